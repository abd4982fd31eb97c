const sliceLength = 512

/**
 * Cuts a text into short slices, because the run time of a tokenizer grows with the square of a run without spaces.
 * Slices begin with a space if possible, because tokens do.
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
