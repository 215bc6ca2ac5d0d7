// `node daemon/main.ts` starts this file: main.ts is a link to it, because an old Node cannot read a .ts file.

require('../libs/chassis/start.cjs').start('daemon', () => import('./program.ts'))
