// Logs are JSON lines on standard output. Two fences keep credentials and content out of them: a line has only the
// fields of the allow-list below (redaction by path leaked in 12 of 13 shapes that were tried), and the finished line
// goes through a scrubber, because libraries put what they were given into their error messages.

import { pino } from 'pino'

export interface LogFields {
  requestId?: string
  traceId?: string
  method?: string
  route?: string
  status?: number
  code?: string
  durationMs?: number
  bytes?: number
  address?: string
  state?: string
  from?: string
  to?: string
  reason?: string
  subservice?: string
  component?: string
  service?: string
  setting?: string
  signal?: string
  url?: string
  version?: string
  pid?: number
  count?: number
  audit?: string
  error?: unknown
}

export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  fatal(fields: LogFields, message: string): void
  /** One line per request. All fields are ours, so it is printed without redaction, at a third of the cost. */
  request(line: RequestLine): void
  flush(): void
}

export interface RequestLine {
  level: 'debug' | 'info'
  requestId: string
  /** 32 hex digits. */
  traceId: string | undefined
  /** One of HTTP's. */
  method: string
  /** A template of ours, never the path: keys and names in it are the customer's content. */
  route: string
  status: number
  /** Of the error table. */
  code: string | undefined
  /** A sentence of ours, with nothing in it that was sent. */
  reason: string | undefined
  /** The socket's peer. */
  address: string | undefined
  durationMs: number
  /** How many like it left no line before this one. */
  unlogged?: number | undefined
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const ALLOWED = new Set<string>([
  'requestId',
  'traceId',
  'method',
  'route',
  'status',
  'code',
  'durationMs',
  'bytes',
  'address',
  'state',
  'from',
  'to',
  'reason',
  'subservice',
  'component',
  'service',
  'setting',
  'signal',
  'url',
  'version',
  'pid',
  'count',
  'audit',
  'error',
] satisfies (keyof LogFields)[])

interface LogSink {
  write(line: string): void
  flush?(): void
}

/** `sink` is standard output unless a test listens in. */
export function createLog({ level, program, sink }: { level: LogLevel; program: string; sink?: LogSink }): Log {
  // Writes are collected (a write per line costs a system call per request) and flushed every second, on fatal and on
  // exit.
  const destination = sink ?? pino.destination({ fd: 1, sync: false, minLength: 4_096, periodicFlush: 1_000 })
  const time = timeField()
  const logger = pino(
    {
      level,
      base: { program },
      timestamp: time,
      messageKey: 'message',
      formatters: { level: (label) => ({ level: label }), log: allowed },
    },
    { write: (line: string) => destination.write(scrub(line)) },
  )
  const flush = () => (sink ? sink.flush?.() : flushNow(destination))
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    request(line) {
      if (!logger.isLevelEnabled(line.level)) return
      const trace = line.traceId === undefined ? '' : `,"traceId":"${line.traceId}"`
      const code = line.code === undefined ? '' : `,"code":"${line.code}"`
      const reason = line.reason === undefined ? '' : `,"reason":${JSON.stringify(line.reason)}`
      const unlogged = line.unlogged === undefined ? '' : `,"unlogged":${line.unlogged}`
      const address = line.address === undefined ? '' : `,"address":"${line.address}"`
      destination.write(
        `{"level":"${line.level}"${time()},"program":"${program}","requestId":"${line.requestId}"${trace},"method":"${line.method}","route":"${line.route}","status":${line.status}${code}${reason}${address}${unlogged},"durationMs":${line.durationMs},"message":"request"}\n`,
      )
    },
    fatal(fields, message) {
      logger.fatal(fields, message)
      flush()
    },
    flush,
  }
}

function flushNow(destination: object): void {
  try {
    ;(destination as { flushSync(): void }).flushSync()
  } catch {
    // The descriptor is not open yet, or gone: there is nowhere left to say so.
  }
}

/** Under load many lines share their millisecond, and printing it is the dearest part of a short line. */
function timeField(): () => string {
  let at = 0
  let field = ''
  return () => {
    const now = Date.now()
    if (now !== at) {
      at = now
      field = `,"time":"${new Date(now).toISOString()}"`
    }
    return field
  }
}

function allowed(fields: Record<string, unknown>): Record<string, unknown> {
  for (const key in fields) if (key === 'error' || !ALLOWED.has(key)) return filtered(fields)
  return fields
}

function filtered(fields: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const key in fields) {
    if (!ALLOWED.has(key)) continue
    kept[key] = key === 'error' ? errorFields(fields[key]) : fields[key]
  }
  return kept
}

/** Only what identifies an error: a driver's error also carries rows, parameters and the detail line. */
function errorFields(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const code = (error as { code?: unknown }).code
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    // Only the frames: a message of several lines stands in the stack too, and may hold anything.
    stack: error.stack
      ?.match(/^ +at .*$/gm)
      ?.slice(0, 11)
      .join('\n'),
    ...(error.cause === undefined ? {} : { cause: errorFields(error.cause) }),
  }
}

/** Anything that looks like a credential, wherever it stands. */
const SECRETS = [
  /eyJ[\w-]{8,}(\.[\w-]*){1,4}(~eyJ[\w.~-]*)*/g,
  /loci_(sk|ptr|adm|sh|ocd|ort)_[\w-]+/g,
  /whsec_[\w+/=-]+/g,
  /\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi,
  /((?:postgres(?:ql)?|https?|rediss?):\/\/[^\s:/@"\\]*:)[^\s@"\\]+@/gi,
  /\b((?:password|passwd|secret|token|api[_-]?key)\\?["']?\s*[=:]\s*\\?["']?)[^\s"'\\,;}]{4,}/gi,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]

// One test decides for nearly every line, so that a request pays for a single pass.
const SUSPICIOUS =
  /eyJ|loci_(?:sk|ptr|adm|sh)_|whsec_|bearer|basic|:\/\/[^\s"]*@|password|passwd|secret|token|api[_-]?key|PRIVATE KEY/i

export function scrub(line: string): string {
  if (!SUSPICIOUS.test(line)) return line
  let clean = line
  for (const secret of SECRETS) clean = clean.replace(secret, (_, ...groups) => `${keptPrefix(groups)}[scrubbed]`)
  return clean
}

/** A first group that ends in `:`, `=` or a quote (`password=`, `postgres://user:`) is a prefix to keep. */
function keptPrefix(groups: unknown[]): string {
  const first = groups[0]
  return typeof first === 'string' && /[:=]\s*\\?["']?$/.test(first) ? first : ''
}
