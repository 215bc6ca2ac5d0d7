// Who is staff. What a role may do is a table of the contract (libs/contract/roles.ts).

/** Of a session. An API key needs the scope `staff` beside it. */
export function isStaffAddress(email: string, staffEmails: readonly string[]): boolean {
  return staffEmails.includes(email)
}
