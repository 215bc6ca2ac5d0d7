// Questions about the sample (cli/up/demo.json): one that it answers, and one of which nobody ever told it anything.

export const KNOWN = 'What happened to the parcel of order 4411?'
export const UNKNOWN = 'Which instrument does the mayor of Lisbon play?'
