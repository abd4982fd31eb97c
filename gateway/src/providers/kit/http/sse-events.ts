import type { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'

/** No event of words is longer; what is would only fill the memory. */
const longestEventChars = 4 * 1024 * 1024

/** The data of each server-sent event in turn. A last event that was not closed is not one. */
export async function* sentEvents(bytes: Readable, what: string): AsyncGenerator<string, void, undefined> {
  let rest = ''
  let data: string[] = []
  for await (const chunk of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    // A chunk may end between the two characters that end a line.
    const text = rest + chunk
    const whole = text.endsWith('\r') ? text.length - 1 : text.length
    const lines = text.slice(0, whole).split(/\r\n|\r|\n/)
    rest = (lines.pop() ?? '') + text.slice(whole)
    if (rest.length > longestEventChars)
      throw new ProviderFailure('unknown', `${what} sent too long an event`)
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
}
