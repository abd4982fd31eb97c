export interface Base64Decoder {
  /** The bytes that the text adds, or undefined if the text is not valid base64. */
  take: (text: string) => Buffer | undefined
  end: () => Buffer | undefined
}

/** Decodes base64 from chunks of any size. Strict: standard alphabet, with padding, without whitespace. */
export function createBase64Decoder(): Base64Decoder {
  let over = ''
  let padding = 0
  let wrong = false

  function take(text: string): Buffer | undefined {
    const pads = /={0,2}$/u.exec(text)![0].length
    const letters = text.length - pads
    if (letters > 0 && padding > 0) wrong = true
    if (!/^[A-Za-z0-9+/]*$/u.test(text.slice(0, letters))) wrong = true
    padding += pads
    if (padding > 2) wrong = true
    if (wrong) return undefined
    const whole = over + text
    const ready = whole.length - (whole.length % 4)
    over = whole.slice(ready)
    return Buffer.from(whole.slice(0, ready), 'base64')
  }

  return { take, end: () => (wrong || over !== '' ? undefined : Buffer.alloc(0)) }
}
