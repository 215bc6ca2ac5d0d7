// Numbers and texts as bytes, for snapshots. Whole numbers take as many bytes as they need.

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1_024)
  #length = 0

  #reserve(count: number): number {
    const at = this.#length
    this.#length += count
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    return at
  }

  /** Not negative, below 2^53. */
  whole(value: number): void {
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#byte((rest % 128) | 128)
    this.#byte(rest)
  }

  #byte(value: number): void {
    // Reserved first: it may exchange the bytes for larger ones.
    const at = this.#reserve(1)
    this.#bytes[at] = value
  }

  real(value: number): void {
    const at = this.#reserve(8)
    this.#bytes.writeDoubleLE(value, at)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.whole(length)
    const at = this.#reserve(length)
    this.#bytes.write(value, at)
  }

  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length)
    this.#bytes.set(value, at)
  }

  done(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }
}

export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  get at(): number {
    return this.#at
  }

  /** Not a copy. */
  since(at: number): Buffer {
    return this.#bytes.subarray(at, this.#at)
  }

  whole(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new RangeError('the bytes end within a number')
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  real(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  text(): string {
    const length = this.whole()
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }
}
