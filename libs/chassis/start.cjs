// The first file of each program, in words that every Node since 12 can read: it says in one line that Node is too old,
// or that packages are missing, where Node itself would print a stack. It must import nothing.
'use strict'

const MAJOR_MIN = 24
/** EXIT.config of program.ts: a supervisor must not start it again. */
const EXIT_CONFIG = 78

/** Loads the program, or says why that cannot be. */
exports.start = (name, load, host = process) => {
  const refuse = (reason) => {
    host.stderr.write(`${name} does not start: ${reason}\n`)
    host.exit(EXIT_CONFIG)
  }
  const { node } = host.versions
  if (Number(node.split('.')[0]) < MAJOR_MIN)
    return refuse(`it needs Node ${MAJOR_MIN} or newer, and ${host.execPath} is Node ${node}`)
  return load().catch((error) => {
    const [, missing] = /Cannot find package '([^']+)'/.exec(error.message) || []
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !missing) throw error
    return refuse(`the package ${missing} is not installed: run npm ci --omit=dev in the checkout`)
  })
}
