/** Recordings that state less than they contain. */
import { encoded, wave } from './sound.ts'

export const lyingSeconds = 13.5
const sound = wave(lyingSeconds)

/** A first chunk of data with 2 ms, and a second one with all of the sound. */
export const twoChunksOfData = async () => {
  const data = sound.subarray(36)
  const little = Buffer.concat([data.subarray(0, 4), Buffer.from([64, 0, 0, 0]), Buffer.alloc(64)])
  return Buffer.concat([sound.subarray(0, 36), little, data])
}

export const twoStreams = () => {
  const silence = ['-f', 'lavfi', '-t', '0.3', '-i', 'anullsrc=r=16000:cl=mono', '-map', '1:a', '-map', '0:a']
  return encoded(sound, 'out.m4a', silence)
}

/** A clock that is a hundred times faster, in a file whose durations are all counted by it. */
const fastClock = async () => {
  const bytes = await encoded(sound, 'out.m4a')
  const at = bytes.indexOf('mdhd') + 16
  bytes.writeUInt32BE(bytes.readUInt32BE(at) * 100, at)
  return bytes
}

export const lyingRecordings = {
  'two chunks of data in WAV': twoChunksOfData,
  'a short and a long audio stream in M4A': twoStreams,
  'a fast clock in M4A': fastClock,
}
