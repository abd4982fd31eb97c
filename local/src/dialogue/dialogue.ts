import { rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'

import { findFfmpeg, type FfmpegSettings, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { createInference } from '../inference/inference.ts'
import { drain } from '../jobs/job-upload.ts'
import type { Log } from '../log.ts'
import type { ModelDirectory } from '../models/model-directory.ts'
import { checkSpeechOrder } from '../speech/speech-order.ts'
import { makeWorkFolder, type WorkSettings } from '../work-folder.ts'
import { readChatOrder, type ChatOrder, type ReplySettings } from './chat-order.ts'
import {
  chunkOf,
  completionOf,
  startAnswer,
  usageChunkOf,
  usageOf,
  type Counted,
  type FinishedChoice,
} from './completion.ts'
import { problemOf } from './dialogue-problem.ts'
import type { DialogueChunk, DialogueTask, PromptMessage } from './dialogue-task.ts'
import { echo } from './echo.ts'
import { receiveChat } from './receive-chat.ts'
import { createSpokenReplies } from './spoken-replies.ts'
import { speakReply, speakWithin, type ReplyStep, type Speak } from './spoken-reply.ts'
import { createMessageTranscriber, type Recognise } from './transcribe-messages.ts'

const mostWaiting = 16
const busyRetrySeconds = 5
const defaultIdleMs = 300_000
/** A client that reads nothing for this time is disconnected. */
const standstillMs = 300_000

export interface DialogueOptions extends FfmpegSettings, WorkSettings {
  directory: ModelDirectory
  recognise: Recognise
  speak: Speak
  log: Log
  /** The model is unloaded after this time without a request. */
  idleMs?: number
}

export interface Dialogue {
  /** Handles `POST /v1/chat/completions`. */
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  close: () => Promise<void>
}

interface Reply {
  headers: Record<string, string>
  chunks: AsyncGenerator<DialogueChunk, void, undefined>
}

export function createDialogue(options: DialogueOptions): Dialogue {
  const { directory, log } = options
  const model = createInference<DialogueTask, DialogueChunk>({
    name: 'tinyllama',
    program: new URL('dialogue-process.ts', import.meta.url),
    mostWaiting,
    idleMs: options.idleMs ?? defaultIdleMs,
    log,
  })
  const spokenReplies = createSpokenReplies()
  const transcribe = createMessageTranscriber(options.recognise, spokenReplies)
  let finding: Promise<FfmpegTool> | undefined

  function ffmpegFound(): Promise<FfmpegTool> {
    finding ??= findFfmpeg(options).catch((error: unknown) => {
      // Search again next time, because ffmpeg may be installed in the meantime.
      finding = undefined
      throw error
    })
    return finding
  }

  function reply(messages: PromptMessage[], settings: ReplySettings, signal: AbortSignal): Reply {
    const weights = directory.find('tinyllama')
    const runtime = directory.find('llama-runtime')
    if (weights === undefined || runtime === undefined) {
      const headers = { 'x-engine': 'echo', 'x-engine-wanted': 'tinyllama' }
      return { headers, chunks: echo(messages, settings) }
    }
    const task = { weights, runtime, messages, settings }
    return { headers: { 'x-engine': 'tinyllama' }, chunks: model.run(task, signal) }
  }

  async function finish(
    { chunks }: Reply,
    { speech, settings }: ChatOrder,
    folder: string,
    signal: AbortSignal,
  ): Promise<object> {
    const head = startAnswer()
    const choices: (FinishedChoice & { tokens: number; steps: ReplyStep[] })[] = []
    const made: Counted = { textTokens: 0, soundSeconds: 0 }
    let read: Counted | undefined
    let steps: ReplyStep[] = []
    for await (const chunk of chunks) {
      const text = steps.at(-1)?.text ?? ''
      if (chunk.kind === 'read') read = { textTokens: chunk.textTokens, soundSeconds: chunk.audioSeconds }
      else if (chunk.kind === 'text') steps.push({ text: text + chunk.text, tokens: chunk.tokens })
      else {
        choices.push({ text, reason: chunk.reason, audio: undefined, tokens: chunk.tokens, steps })
        steps = []
      }
    }
    if (speech !== undefined) {
      const tools = { speak: options.speak, ffmpeg: await ffmpegFound(), folder }
      const speak = (input: string) => speakReply(tools, { input, ...speech }, signal)
      for (const choice of choices) {
        const [first = { text: '', tokens: 0 }, ...others] = choice.steps
        const said = await speakWithin([first, ...others], settings.maxTokens ?? Infinity, speak)
        if (said.isCut) {
          choice.text = said.text
          choice.tokens = said.tokens
          choice.reason = 'length'
        }
        const data = said.spoken.bytes.toString('base64')
        choice.audio = { ...spokenReplies.remember(choice.text), data }
        made.soundSeconds += said.spoken.seconds
      }
    }
    made.textTokens = choices.reduce((sum, { tokens }) => sum + tokens, 0)
    return completionOf(head, choices, read && usageOf(read, made))
  }

  async function stream(
    { headers, chunks }: Reply,
    order: ChatOrder,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const head = startAnswer()
    const made: Counted = { textTokens: 0, soundSeconds: 0 }
    let read: Counted | undefined
    let begun = -1
    const send = async (data: string) => {
      // Headers are sent with the first chunk, so that an earlier failure still sets the status.
      if (!response.headersSent) {
        response.setTimeout(standstillMs, () => response.destroy())
        response.writeHead(200, {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          ...headers,
        })
      }
      if (!response.write(`data: ${data}\n\n`)) await drained(response, signal)
    }
    for await (const chunk of chunks) {
      if (chunk.kind === 'read') {
        read = { textTokens: chunk.textTokens, soundSeconds: chunk.audioSeconds }
        continue
      }
      const { choice } = chunk
      const role = begun < choice ? { role: 'assistant' as const } : {}
      begun = choice
      if (chunk.kind === 'text') {
        await send(JSON.stringify(chunkOf(head, choice, { ...role, content: chunk.text }, null)))
      } else {
        await send(JSON.stringify(chunkOf(head, choice, role, chunk.reason)))
        made.textTokens += chunk.tokens
      }
    }
    if (order.streamUsage && read !== undefined) {
      await send(JSON.stringify(usageChunkOf(head, usageOf(read, made))))
    }
    await send('[DONE]')
    response.end()
  }

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    folder: string,
    signal: AbortSignal,
  ): Promise<void> {
    const order = readChatOrder(await receiveChat(request.iterator({ destroyOnReturn: false }), folder))
    if (order.speech !== undefined) checkSpeechOrder({ ...order.speech, input: '', speed: 1 })
    const messages = await transcribe(order.messages, signal)
    const begun = performance.now()
    const made = reply(messages, order.settings, signal)
    if (order.stream) await stream(made, order, response, signal)
    else send(response, 200, await finish(made, order, folder, signal), made.headers)
    log('local.replied', {
      engine: made.headers['x-engine'],
      choices: order.settings.choices,
      afterMs: Math.round(performance.now() - begun),
    })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const disconnected = new AbortController()
    response.once('close', () => disconnected.abort())
    const folder = await makeWorkFolder(options, 'dialogue')
    try {
      await answer(request, response, folder, disconnected.signal)
    } catch (error) {
      if (disconnected.signal.aborted || (request.destroyed && !request.complete)) return
      const { status, ...problem } = problemOf(error)
      if (status === 500) log('local.dialogue_failed', { err: error }, 'error')
      if (response.headersSent) {
        response.destroy()
        return
      }
      await drain(request)
      const retry = problem.code === 'busy' ? { 'retry-after': String(busyRetrySeconds) } : {}
      send(response, status, { error: problem }, retry)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  return { handle, close: () => model.close() }
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    response.once('drain', resolve)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string>): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(text)
}
