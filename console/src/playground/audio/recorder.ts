/** Records the microphone. */
import { useEffect, useRef, useState } from 'react'

type RecorderProblem = 'denied' | 'missing' | 'insecure'

export interface Recorder {
  isRecording: boolean
  isAsking: boolean
  elapsedS: number
  /** Loudness from 0 to 1. */
  level: number
  problem: RecorderProblem | undefined
  start: () => void
  /** Hands over what was recorded. */
  stop: () => void
  discard: () => void
}

const types = ['audio/webm;codecs=opus', 'audio/mp4', 'audio/ogg;codecs=opus']

interface Recording {
  stop: (isKept: boolean) => void
  readLevel: () => number
  startedMs: number
}

/** `bytesMax`: the recording ends by itself before it is larger. */
const record = async (bytesMax: number, onEnd: (file: File | undefined) => void): Promise<Recording> => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true })
  const type = types.find((each) => MediaRecorder.isTypeSupported(each))
  const recorder = new MediaRecorder(stream, {
    audioBitsPerSecond: 64_000,
    ...(type !== undefined && { mimeType: type }),
  })
  const context = new AudioContext()
  const analyser = context.createAnalyser()
  context.createMediaStreamSource(stream).connect(analyser)
  const samples = new Float32Array(analyser.fftSize)
  const parts: Blob[] = []
  let bytes = 0
  let isKept = true
  recorder.addEventListener('dataavailable', ({ data }) => {
    parts.push(data)
    bytes += data.size
    if (bytes > bytesMax * 0.98 && recorder.state === 'recording') recorder.stop()
  })
  recorder.addEventListener('stop', () => {
    for (const track of stream.getTracks()) track.stop()
    void context.close()
    const ending = recorder.mimeType.includes('mp4')
      ? 'm4a'
      : recorder.mimeType.includes('ogg')
        ? 'ogg'
        : 'webm'
    onEnd(isKept ? new File(parts, `recording.${ending}`, { type: recorder.mimeType }) : undefined)
  })
  recorder.start(500)
  return {
    startedMs: performance.now(),
    stop: (kept) => {
      isKept = kept
      if (recorder.state !== 'inactive') recorder.stop()
    },
    readLevel: () => {
      analyser.getFloatTimeDomainData(samples)
      return samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0)
    },
  }
}

const describe = (error: unknown): RecorderProblem =>
  error instanceof DOMException && error.name === 'NotFoundError' ? 'missing' : 'denied'

export const useRecorder = (bytesMax: number, onRecorded: (file: File) => void): Recorder => {
  const recording = useRef<Recording>(undefined)
  const [state, setState] = useState<'idle' | 'asking' | 'recording'>('idle')
  const [{ elapsedS, level }, setMeter] = useState({ elapsedS: 0, level: 0 })
  const [problem, setProblem] = useState<RecorderProblem>()
  useEffect(() => {
    if (state !== 'recording') return
    const timer = setInterval(() => {
      if (recording.current === undefined) return
      const { startedMs, readLevel } = recording.current
      setMeter({ elapsedS: (performance.now() - startedMs) / 1_000, level: readLevel() })
    }, 100)
    return () => clearInterval(timer)
  }, [state])
  // The microphone is off when the screen is left.
  useEffect(() => () => recording.current?.stop(false), [])
  const open = async () => {
    setProblem(undefined)
    // `mediaDevices` is absent without HTTPS.
    if (!globalThis.isSecureContext) {
      setProblem('insecure')
      return
    }
    setState('asking')
    try {
      recording.current = await record(bytesMax, (file) => {
        recording.current = undefined
        setState('idle')
        if (file !== undefined) onRecorded(file)
      })
      setMeter({ elapsedS: 0, level: 0 })
      setState('recording')
    } catch (error) {
      setProblem(describe(error))
      setState('idle')
    }
  }
  return {
    isRecording: state === 'recording',
    isAsking: state === 'asking',
    elapsedS,
    level,
    problem,
    start: () => void open(),
    stop: () => recording.current?.stop(true),
    discard: () => recording.current?.stop(false),
  }
}
