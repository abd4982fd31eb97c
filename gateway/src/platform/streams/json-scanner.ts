/**
 * Scans JSON that arrives in chunks: the structure between texts, and the escape sequences of a text. It does not validate
 * the structure; the caller passes the bytes that it buffered to `JSON.parse`.
 */

export const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const letterU = 0x75
const openBrace = 0x7b
const closeBrace = 0x7d

/** The character that each escape sequence denotes. */
const escapes = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
)

const hexDigitOf = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff

/** Finds the next occurrence of a byte, or the end of the chunk. Call it with increasing positions only. */
const createFinder = (chunk: Buffer, byte: number) => {
  let found = -1
  return (from: number): number => {
    if (found < from) {
      found = chunk.indexOf(byte, from)
      if (found < 0) found = chunk.length
    }
    return found
  }
}

const hasControlByByte = (chunk: Buffer, from: number, to: number): boolean => {
  for (let at = from; at < to; at += 1) if ((chunk[at] as number) < 0x20) return true
  return false
}

/** Whether one of these bytes is a control character, which JSON allows only as an escape sequence. */
const hasControl = (chunk: Buffer, from: number, to: number): boolean => {
  const start = from + (-(chunk.byteOffset + from) & 3)
  if (to - start < 4) return hasControlByByte(chunk, from, to)
  // Checking four bytes at a time makes this cheap.
  const words = new Int32Array(chunk.buffer, chunk.byteOffset + start, (to - start) >> 2)
  let isBelow = 0
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number
    // The subtraction sets the highest bit of a byte below 32 that did not have it before.
    isBelow |= (word - 0x20202020) & ~word & 0x80808080
  }
  const end = start + words.length * 4
  return isBelow !== 0 || hasControlByByte(chunk, from, start) || hasControlByByte(chunk, end, to)
}

/** Resolves the escape sequences of one text, which may be split anywhere. */
export const createUnescaper = (invalid: () => Error) => {
  let state: 'plain' | 'escaped' | 'hex' = 'plain'
  let hexDigits = 0
  let code = 0
  /** A high surrogate whose low surrogate has not arrived yet. */
  let high = 0
  let isWellFormed = true

  /** Consumes bytes up to the closing quote; returns the next position, whether the text has ended, and the text so far. */
  const take = (chunk: Buffer, start: number): { next: number; isEnd: boolean; text: Buffer } => {
    let at = start
    let isEnd = false
    let onlyRun: { from: number; to: number } | undefined
    let out: Buffer | undefined
    let outBytes = 0
    const prepare = (): Buffer => {
      // An escape sequence is never shorter than its result, unless it began in an earlier chunk.
      out ??= Buffer.allocUnsafe(chunk.length - start + 8)
      if (onlyRun !== undefined) outBytes += chunk.copy(out, outBytes, onlyRun.from, onlyRun.to)
      onlyRun = undefined
      return out
    }
    const addRun = (from: number, to: number) => {
      if (hasControl(chunk, from, to)) throw invalid()
      if (out === undefined && onlyRun === undefined) onlyRun = { from, to }
      else {
        const prepared = prepare()
        outBytes += chunk.copy(prepared, outBytes, from, to)
      }
    }
    const addCode = (added: number) => {
      const prepared = prepare()
      if (added < 0x80) prepared[outBytes++] = added
      else outBytes += prepared.write(String.fromCodePoint(added), outBytes, 'utf8')
    }
    const addLone = () => {
      isWellFormed = false
      high = 0
      addCode(0xfffd)
    }
    const addUnit = (unit: number) => {
      if (high !== 0 && isLowSurrogate(unit)) {
        addCode(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00))
        high = 0
        return
      }
      if (high !== 0) addLone()
      if (isHighSurrogate(unit)) high = unit
      else if (isLowSurrogate(unit)) addLone()
      else addCode(unit)
    }

    // Each search starts anew only when its last result was passed, so a chunk is scanned at most twice.
    const quotes = createFinder(chunk, quote)
    const backslashes = createFinder(chunk, backslash)
    while (at < chunk.length && !isEnd) {
      const byte = chunk[at] as number
      if (state === 'plain') {
        if (high !== 0 && byte !== backslash) addLone()
        const end = Math.min(quotes(at), backslashes(at))
        if (end > at) addRun(at, end)
        at = end
        if (at === chunk.length) break
        if (chunk[at] === backslash) state = 'escaped'
        else isEnd = true
      } else if (state === 'escaped') {
        const meant = escapes.get(byte)
        if (byte === letterU) {
          state = 'hex'
          hexDigits = 0
          code = 0
        } else if (meant === undefined) throw invalid()
        else {
          if (high !== 0) addLone()
          addCode(meant)
          state = 'plain'
        }
      } else {
        const digit = hexDigitOf(byte)
        if (digit < 0) throw invalid()
        code = code * 16 + digit
        hexDigits += 1
        if (hexDigits === 4) {
          addUnit(code)
          state = 'plain'
        }
      }
      at += 1
    }
    const text =
      onlyRun === undefined
        ? (out ?? Buffer.alloc(0)).subarray(0, outBytes)
        : chunk.subarray(onlyRun.from, onlyRun.to)
    return { next: at, isEnd, text }
  }
  return { take, isWellFormed: () => isWellFormed }
}

export interface StructureLimits {
  depthMax: number
  tooDeep: () => Error
  membersMax?: number
  tooManyMembers?: () => Error
}

/** Tracks brackets and names between texts. */
export const createStructure = ({
  depthMax,
  tooDeep,
  membersMax = Infinity,
  tooManyMembers = tooDeep,
}: StructureLimits) => {
  const open: number[] = []
  /** The last structural character; it distinguishes the name of a member from a value. */
  let last = 0
  /** An upper bound of the members: a comma follows each but the last, for which the container is counted. */
  let members = 0

  /** Returns the position of the next quote, of the bracket that ends the document, or the end of the chunk. */
  const scan = (chunk: Buffer, start: number): number => {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (byte === quote) return at
      if (byte === openBrace || byte === openBracket) {
        open.push(byte)
        members += 1
        if (open.length > depthMax) throw tooDeep()
      } else if (byte === closeBrace || byte === closeBracket) {
        open.pop()
        if (open.length === 0) {
          last = 0
          return at
        }
      } else if (byte === comma) members += 1
      else if (byte !== colon) continue
      if (members > membersMax) throw tooManyMembers()
      last = byte
    }
    return chunk.length
  }

  return {
    scan,
    isBetweenDocuments: () => open.length === 0,
    isInObject: () => open.at(-1) === openBrace,
    /** Whether a text at this position is the name of a member. */
    isName: () => open.at(-1) === openBrace && last !== colon,
  }
}

/** Returns the position of the closing quote of a text, or the end of the chunk. */
export const createTextScan = () => {
  let isEscaped = false
  return (chunk: Buffer, start: number, end: number): number => {
    for (let at = start; at < end; at += 1) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === backslash) isEscaped = true
      else if (chunk[at] === quote) return at
    }
    return end
  }
}
