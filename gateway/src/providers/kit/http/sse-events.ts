import type { Readable } from 'node:stream'

import { ProviderFailure } from '../../port/failure.ts'

/** Bounds the memory of an event. */
const eventCharactersMax = 4 * 1024 * 1024

/** Yields the data of each server-sent event. An unterminated last event is dropped. */
export async function* readSseEvents(bytes: Readable, what: string): AsyncGenerator<string, void, undefined> {
  let rest = ''
  let data: string[] = []
  for await (const chunk of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    // A chunk may end between CR and LF.
    const text = rest + chunk
    const whole = text.endsWith('\r') ? text.length - 1 : text.length
    const lines = text.slice(0, whole).split(/\r\n|\r|\n/)
    rest = (lines.pop() ?? '') + text.slice(whole)
    if (rest.length > eventCharactersMax)
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
