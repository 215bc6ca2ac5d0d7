// Somebody who is signed in and belongs to no organization yet: the plain page after sign-in lets them make one.

export function NoOrganization() {
  return (
    <main className="alone" id="main">
      <h1>No organization yet</h1>
      <p>You belong to no organization. Make one, or ask an owner of yours for an invitation.</p>
      <a className="btn p" href="/signed-in/done">
        Make an organization
      </a>
    </main>
  )
}
