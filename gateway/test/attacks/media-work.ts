/** Recordings that are expensive to measure and characters to cut, with callers who disconnect early. */
import { readFile } from 'node:fs/promises'

import { burst, formRequest, head, paced, partHead } from './client.ts'
import type { Attack } from './target.ts'

const audioPerMinute = 120
const createsPerMinute = 60

export const mediaWork: Attack = async ({ keys, taskId, recordings }) => {
  const files = await Promise.all(recordings.map((path) => readFile(path)))
  const model = [partHead('model'), Buffer.from('asr-1'), partHead('file', 'recording.mp3')]
  const transcription = (key: string, index: number) =>
    formRequest('/v1/audio/transcriptions', key, [...model, files[index % files.length] as Buffer])
  const character = (key: string, index: number) => {
    // A different part of the video each time, so that no existing character is reused.
    const start = (index % 60) / 10
    const body = JSON.stringify({ from_task: taskId, timestamps: `${start},${start + 3}` })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    return [head('POST', '/vidB/v1/characters', key, headers), Buffer.from(body)]
  }
  const ending = (index: number) => (index % 2 === 0 ? 'answer' : 'disconnect')
  return async (client, signal) => {
    await Promise.all([
      burst(signal, { count: audioPerMinute, atOnce: 24 }, (index) =>
        client.exchange(transcription(keys.poor, index), ending(index)),
      ),
      paced(signal, { perSecond: audioPerMinute / 60, atOnceMax: 24 }, (index) =>
        client.exchange(transcription(keys.funded, index), ending(index)),
      ),
      burst(signal, { count: createsPerMinute, atOnce: 20 }, (index) =>
        client.exchange(character(keys.funded, index), 'disconnect'),
      ),
    ])
  }
}
