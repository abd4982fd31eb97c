import type { ChildProcess } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { wholeAudioAt } from '@kinora/sandbox/audio-filter'

import { killSandboxed } from '../ffmpeg/run-ffmpeg.ts'
import { startProgram, type FfmpegTool } from '../ffmpeg/sandbox.ts'
import { undecodable } from './recognition-refusal.ts'
import { samplesPerSecond } from './samples/mel.ts'
import { bytesPerSample } from './samples/samples-file.ts'

/** The supported containers. Playlists are excluded, because they reference other files. */
const containers = 'mp3,flac,ogg,wav,mov,mp4,m4a,matroska,webm,mpeg'
/** The usual codecs of these containers. All other decoders of ffmpeg are disabled. */
const decoders = [
  ...['mp1', 'mp1float', 'mp2', 'mp2float', 'mp3', 'mp3float', 'aac', 'alac', 'flac', 'vorbis', 'libvorbis'],
  ...['opus', 'libopus', 'speex', 'libspeex', 'ac3', 'eac3', 'adpcm_ms', 'adpcm_ima_wav', 'gsm_ms'],
  ...['pcm_u8', 'pcm_s16le', 'pcm_s16be', 'pcm_s24le', 'pcm_s24be', 'pcm_s32le', 'pcm_s32be'],
  ...['pcm_f32le', 'pcm_f32be', 'pcm_f64le', 'pcm_alaw', 'pcm_mulaw', 'pcm_s8'],
]
/** ffmpeg is killed if it decodes nothing for this time. */
const standstillMs = 60_000
const errorTailCharacters = 4000

export interface RecordingTask {
  tool: FfmpegTool
  /** Contains the recording and receives the samples. ffmpeg has access to nothing else. */
  folder: string
  recordingName: string
  mostSeconds: number
  signal: AbortSignal
}

/**
 * Decodes an untrusted recording to a file of raw samples and returns its path. The number of samples is limited,
 * independent of the length in the header of the recording.
 */
export async function decodeRecording(task: RecordingTask): Promise<string> {
  const { signal, mostSeconds } = task
  signal.throwIfAborted()
  const samplesPath = path.join(task.folder, 'samples.s16')
  const stdio = ['ignore' as const, 'pipe' as const, 'pipe' as const]
  const child = startProgram(task.tool, task.folder, decodeArgs(task), stdio, [task.recordingName])
  const kill = () => killSandboxed(child)
  const running = ended(child)
  signal.addEventListener('abort', kill)
  let standstill = setTimeout(kill, standstillMs)
  let isTooLong = false
  const stopTooLong = () => {
    isTooLong = true
    kill()
  }
  readComplaints(child.stderr!, mostSeconds, stopTooLong)

  const mostBytes = mostSeconds * samplesPerSecond * bytesPerSample
  let bytes = 0
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      clearTimeout(standstill)
      standstill = setTimeout(kill, standstillMs)
      bytes += chunk.length
      if (bytes <= mostBytes) return done(null, chunk)
      stopTooLong()
      done()
    },
  })
  try {
    const [outcome] = await Promise.all([
      running,
      pipeline(child.stdout!, counting, createWriteStream(samplesPath)).catch((error: unknown) => {
        kill()
        throw error
      }),
    ])
    signal.throwIfAborted()
    if (isTooLong) throw undecodable(`The recording is longer than ${Math.floor(mostSeconds / 3600)} hours.`)
    if (outcome !== 'exit 0') throw undecodable('The recording could not be decoded.')
    if (bytes === 0) throw undecodable('The recording is empty.')
    return samplesPath
  } finally {
    clearTimeout(standstill)
    signal.removeEventListener('abort', kill)
    await running
  }
}

function decodeArgs({ recordingName }: RecordingTask): string[] {
  return [
    // The log level at which ffmpeg prints the length from the header.
    ...['-hide_banner', '-loglevel', 'info', '-nostats', '-nostdin'],
    ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', containers],
    ...['-codec_whitelist', decoders.join(','), '-threads', '1', '-vn', '-sn', '-dn', '-i', recordingName],
    ...['-map', '0:a:0', '-af', wholeAudioAt(samplesPerSecond), '-ac', '1', '-ar', String(samplesPerSecond)],
    ...['-c:a', 'pcm_s16le', '-f', 's16le', 'pipe:1'],
  ]
}

/** Rejects a recording early if its header already contains a length over the limit. */
function readComplaints(stderr: Readable, mostSeconds: number, onTooLong: () => void): void {
  let text = ''
  let isRead = false
  stderr.setEncoding('utf8').on('data', (more: string) => {
    if (isRead) return
    text = (text + more).slice(-errorTailCharacters)
    const claimed = /Duration: (\d+):(\d\d):(\d\d)/u.exec(text)
    if (claimed === null) return
    isRead = true
    const [hours = 0, minutes = 0, seconds = 0] = claimed.slice(1).map(Number)
    if (hours * 3600 + minutes * 60 + seconds > mostSeconds) onTooLong()
  })
}

function ended(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(`error ${error.message}`))
    child.once('close', (code, signal) => resolve(code === null ? `signal ${signal}` : `exit ${code}`))
  })
}
