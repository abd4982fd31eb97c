import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'

import { InferenceBusy } from '../inference/inference.ts'
import { drain } from '../jobs/job-upload.ts'
import type { Log } from '../log.ts'
import { makeWorkFolder, type WorkSettings } from '../work-folder.ts'
import { receiveRecording, type ReceivedRecording } from './receive-recording.ts'
import type { ChosenEngine, RecognitionOrder } from './recognition-plan.ts'
import { RecognitionRefusal } from './recognition-refusal.ts'
import type { Recognise, Recognition } from './recognition-result.ts'

interface Recognising extends WorkSettings {
  recognise: Recognise
  log: Log
}

const busyRetrySeconds = 5
/** A client that reads nothing for this time is disconnected. */
const standstillMs = 300_000

export async function answerRecognition(
  { recognise, log, ...work }: Recognising,
  request: IncomingMessage,
  response: ServerResponse,
  task: RecognitionOrder['task'],
): Promise<void> {
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const folder = await makeWorkFolder(work, 'upload')
  try {
    const received = await receiveRecording(request, path.join(folder, 'upload'), task)
    await sendRecognition(
      received,
      recognise(received.order, disconnected.signal),
      response,
      disconnected.signal,
    )
  } catch (error) {
    if (disconnected.signal.aborted) return
    const { status, code, message } = problemOf(error)
    if (status === 500) log('local.recognition_failed', { err: error }, 'error')
    await drain(request)
    if (response.headersSent) {
      // Destroys the connection, so that the client sees that the stream is incomplete.
      response.destroy()
      return
    }
    send(
      response,
      status,
      { error: { code, message } },
      code === 'busy' ? { 'retry-after': busyRetrySeconds } : {},
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function sendRecognition(
  { order, isVerbose, isStream }: ReceivedRecording,
  events: ReturnType<Recognise>,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const next = await events.next()
    if (next.done === true) {
      const result = next.value
      if (isStream) {
        await sendEvent(response, { type: 'transcript.text.done', text: result.text }, signal)
        response.end()
      } else {
        const headers = {
          ...engineHeaders(result),
          ...(result.translation === undefined ? {} : { 'x-translation': result.translation }),
        }
        send(response, 200, bodyOf(order, isVerbose, result), headers)
      }
      return
    }
    if (!isStream) continue
    if (next.value.type === 'begun') {
      response.setTimeout(standstillMs, () => response.destroy())
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        ...engineHeaders(next.value),
      })
      response.flushHeaders()
    } else await sendEvent(response, { type: 'transcript.text.delta', delta: next.value.text }, signal)
  }
}

async function sendEvent(response: ServerResponse, event: unknown, signal: AbortSignal): Promise<void> {
  if (!response.write(`data: ${JSON.stringify(event)}\n\n`)) await once(response, 'drain', { signal })
}

function bodyOf(order: RecognitionOrder, isVerbose: boolean, result: Recognition): Record<string, unknown> {
  if (!isVerbose) {
    return { text: result.text, usage: { type: 'duration', seconds: result.durationSeconds } }
  }
  return {
    task: order.task,
    language: result.language,
    duration: result.durationSeconds,
    text: result.text,
    ...(result.segments === undefined ? {} : { segments: result.segments }),
    ...(result.words === undefined ? {} : { words: result.words }),
  }
}

function engineHeaders({ engine, wanted }: ChosenEngine): Record<string, string> {
  return { 'x-engine': engine, ...(engine === wanted ? {} : { 'x-engine-wanted': wanted }) }
}

function problemOf(error: unknown): { status: number; code: string; message: string } {
  if (error instanceof RecognitionRefusal) return error
  if (error instanceof InferenceBusy) return { status: 503, code: 'busy', message: error.message }
  return { status: 500, code: 'internal_error', message: 'The recording could not be recognized.' }
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string | number>,
): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(text)
}
