/** The turns of the chat in this tab of the browser. Kept while the other screens are open. */
import type { ChatCompletion, ChatUsage, DialogueBody } from '@kinora/client'
import { useSyncExternalStore } from 'react'

import { queryClient } from '../../queries.ts'
import { kinora } from '../../service.ts'
import { createFileSound, type FileSound } from '../audio/file-sound.ts'
import { encodeWav, readAudio, readBase64 } from './encode-wav.ts'

export interface ChatFields {
  model: string
  reply: 'spoken' | 'written'
  voice: string
  system: string
}

export interface Turn {
  id: number
  role: 'user' | 'assistant'
  text: string
  sound?: FileSound
  /** What the service gets of a recording. */
  recording?: string
  /** By which later messages refer to a spoken reply, until it expires. */
  audioId?: string
  expiresAt?: number
  usage?: ChatUsage
  state: 'done' | 'waiting' | 'stopped' | 'failed'
  error?: unknown
}

let turns: Turn[] = []
let lastId = 0
let stopping = new AbortController()
const watchers = new Set<() => void>()

const setTurns = (changed: Turn[]) => {
  turns = changed
  for (const watcher of watchers) watcher()
}
const change = (id: number, changes: Partial<Turn>) =>
  setTurns(turns.map((turn) => (turn.id === id ? { ...turn, ...changes } : turn)))
const add = (turn: Omit<Turn, 'id'>): number => {
  lastId += 1
  setTurns([...turns, { ...turn, id: lastId }])
  return lastId
}

export const useTurns = (): Turn[] =>
  useSyncExternalStore(
    (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    () => turns,
  )

const isExpired = ({ expiresAt }: Turn) => expiresAt !== undefined && expiresAt * 1_000 < Date.now() + 30_000

export const hasExpiredAudio = (all: Turn[]): boolean =>
  all.some((turn) => turn.audioId !== undefined && isExpired(turn))

type Message = DialogueBody['messages'][number]

const writeMessage = (turn: Turn): Message => {
  if (turn.role === 'assistant') {
    return turn.audioId === undefined || isExpired(turn)
      ? { role: 'assistant', content: turn.text }
      : { role: 'assistant', audio: { id: turn.audioId } }
  }
  if (turn.recording === undefined) return { role: 'user', content: turn.text }
  const audio = { type: 'input_audio', input_audio: { data: turn.recording, format: 'wav' } }
  return { role: 'user', content: turn.text === '' ? [audio] : [{ type: 'text', text: turn.text }, audio] }
}

export const buildBody = ({ model, reply, voice, system }: ChatFields, history: Turn[]): DialogueBody => ({
  model,
  messages: [
    ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
    ...history.filter(({ state }) => state === 'done').map(writeMessage),
  ],
  ...(reply === 'spoken' && {
    modalities: ['text' as const, 'audio' as const],
    audio: { voice, format: 'mp3' as const },
  }),
})

/** Dialogue models may be slow, and a spoken reply arrives as a whole. */
const timeoutMs = 600_000

const receiveSpoken = async (id: number, body: DialogueBody, signal: AbortSignal) => {
  const completion: ChatCompletion = await kinora.chat.completions.create(
    body as DialogueBody & { stream?: false },
    {
      signal,
      timeoutMs,
    },
  )
  const message = completion.choices[0]?.message
  const audio = message?.audio
  const sound = audio && createFileSound(readAudio(audio.data, 'audio/mpeg'))
  change(id, {
    text: audio?.transcript ?? message?.content ?? '',
    usage: completion.usage,
    ...(audio !== undefined && { audioId: audio.id, expiresAt: audio.expires_at }),
    ...(sound !== undefined && { sound }),
  })
  sound?.play()
}

const receiveWritten = async (id: number, body: DialogueBody, signal: AbortSignal) => {
  const events = kinora.chat.completions.create(
    { ...body, stream: true, stream_options: { include_usage: true } },
    { signal, timeoutMs },
  )
  let text = ''
  for await (const { choices, usage } of events) {
    text += choices[0]?.delta.content ?? ''
    change(id, { text, ...(usage != null && { usage }) })
  }
}

/** Asks for a reply to the last turn of the user. */
const requestReply = async (fields: ChatFields): Promise<void> => {
  stopping = new AbortController()
  const { signal } = stopping
  const body = buildBody(fields, turns)
  const id = add({ role: 'assistant', text: '', state: 'waiting' })
  try {
    await (fields.reply === 'spoken' ? receiveSpoken : receiveWritten)(id, body, signal)
    change(id, { state: 'done' })
  } catch (error) {
    change(id, signal.aborted ? { state: 'stopped' } : { state: 'failed', error })
  }
  void queryClient.invalidateQueries({ queryKey: ['me'] })
}

/** Rejects if the browser cannot convert the recording. */
export const sendTurn = async (fields: ChatFields, text: string, recorded?: Blob): Promise<void> => {
  const wav = recorded && (await encodeWav(recorded))
  add({
    role: 'user',
    text,
    state: 'done',
    ...(wav !== undefined && { recording: await readBase64(wav), sound: createFileSound(wav) }),
  })
  await requestReply(fields)
}

/** In the place of a reply that failed or was stopped. */
export const retryReply = async (fields: ChatFields): Promise<void> => {
  setTurns(turns.filter(({ state }) => state === 'done'))
  await requestReply(fields)
}

export const stopReply = (): void => stopping.abort()

export const clearTurns = (): void => {
  stopping.abort()
  for (const { sound } of turns) sound?.close()
  setTurns([])
}
