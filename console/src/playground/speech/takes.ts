/** What was spoken in this tab of the browser. Kept while the other screens are open. */
import type { SpeechBody } from '@kinora/client'
import { useSyncExternalStore } from 'react'

import { queryClient } from '../../queries.ts'
import { kinora } from '../../service.ts'
import { createGrowingSound, type GrowingSound } from '../audio/growing-sound.ts'

export interface Take {
  id: number
  voice: string
  model: string
  format: string
  text: string
  state: 'connecting' | 'streaming' | 'done' | 'stopped' | 'failed'
  sound: GrowingSound
  bytes: number
  /** Milliseconds from the press to these. */
  firstByteMs?: number
  firstSoundMs?: number
  totalMs?: number
  price?: { micros: number; currency: string }
  /** What was received, as soon as it is complete. */
  file?: { blob: Blob; url: string }
  error?: unknown
}

let takes: Take[] = []
let lastId = 0
const watchers = new Set<() => void>()
const requests = new Map<number, AbortController>()

const setTakes = (changed: Take[]) => {
  takes = changed
  for (const watcher of watchers) watcher()
}

const change = (id: number, changes: Partial<Take>) =>
  setTakes(takes.map((take) => (take.id === id ? { ...take, ...changes } : take)))

export const useTakes = (): Take[] =>
  useSyncExternalStore(
    (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    () => takes,
  )

export const isRunning = ({ state }: Take): boolean => state === 'connecting' || state === 'streaming'

/** A queue and a cold model may take minutes. */
const timeoutMs = 600_000

const receive = async (id: number, body: SpeechBody, sound: GrowingSound) => {
  const startedMs = performance.now()
  const stopping = new AbortController()
  requests.set(id, stopping)
  const received: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  let type = ''
  const sinceMs = () => performance.now() - startedMs
  const watchSound = sound.subscribe(() => {
    if (sound.getState().durationS === 0) return
    watchSound()
    change(id, { firstSoundMs: sinceMs() })
  })
  const end = async (state: Take['state'], error?: unknown) => {
    const blob = new Blob(received, { type })
    change(id, {
      state,
      totalMs: sinceMs(),
      ...(error !== undefined && { error }),
      ...(bytes > 0 && { file: { blob, url: URL.createObjectURL(blob) } }),
    })
    await sound.finish()
  }
  try {
    const file = await kinora.speech.create(body, { signal: stopping.signal, timeoutMs })
    type = file.contentType
    const reader = file.stream().getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const part = value as Uint8Array<ArrayBuffer>
      received.push(part)
      bytes += part.length
      change(id, {
        ...(bytes === part.length && { firstByteMs: sinceMs(), state: 'streaming' }),
        bytes,
      })
      await sound.append(part)
    }
    await end('done')
  } catch (error) {
    await (stopping.signal.aborted ? end('stopped') : end('failed', error))
  } finally {
    requests.delete(id)
    void queryClient.invalidateQueries({ queryKey: ['me'] })
  }
}

/** Speaks, and plays while the sound arrives. Call it in the handler of a press. */
export const startTake = (body: SpeechBody, price: Take['price']): void => {
  lastId += 1
  const id = lastId
  const format = body.response_format ?? 'mp3'
  const sound = createGrowingSound(format)
  const take: Take = {
    ...{
      id,
      voice: typeof body.voice === 'string' ? body.voice : body.voice.id,
      model: body.model,
      format,
      text: body.input,
    },
    ...{ state: 'connecting', sound, bytes: 0 },
    ...(price !== undefined && { price }),
  }
  setTakes([take, ...takes])
  void receive(id, body, sound)
}

export const stopTake = (id: number): void => {
  requests.get(id)?.abort()
  takes.find((take) => take.id === id)?.sound.pause()
}

export const removeTake = (id: number): void => {
  stopTake(id)
  const take = takes.find((each) => each.id === id)
  take?.sound.close()
  if (take?.file !== undefined) URL.revokeObjectURL(take.file.url)
  setTakes(takes.filter((each) => each.id !== id))
}
