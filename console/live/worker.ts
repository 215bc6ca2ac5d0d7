// The one worker of a browser that holds the streams, whichever tab began it.

import { runHub } from './run.ts'

void runHub()
