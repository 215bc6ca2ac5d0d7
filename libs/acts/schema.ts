/** Where the functions are that both programs have in their databases. */
export const ACTS = import.meta.dirname
