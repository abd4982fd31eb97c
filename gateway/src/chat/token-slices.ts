const sliceLength = 512

/**
 * Cuts a text into pieces that are counted quickly: how long a tokenizer takes grows with the square of a run without
 * spaces. A piece begins with a space wherever there is one, because that is where tokens begin.
 */
export function* slicesOf(text: string): Generator<string, void, undefined> {
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + sliceLength)
    if (end < text.length) {
      const space = text.lastIndexOf(' ', end)
      if (space > start) end = space
      else if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1
    }
    yield text.slice(start, end)
    start = end
  }
}
