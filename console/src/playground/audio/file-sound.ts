/** A sound that is complete: a recording, or a sample of a voice. */
import { readPeaks } from './peaks.ts'
import { createSoundState, takeTurn, type Sound } from './sound.ts'

export interface FileSound extends Sound {
  /** Address of the file for a download, until the sound is closed. */
  readonly url: string
}

/** `hasPeaks`: whether a waveform will show it. */
export const createFileSound = (file: Blob, hasPeaks = true): FileSound => {
  const url = URL.createObjectURL(file)
  const state = createSoundState()
  const element = new Audio(url)
  element.preload = 'metadata'
  const setDuration = () => {
    // Recordings of a browser may not say how long they are.
    if (Number.isFinite(element.duration)) state.set({ durationS: element.duration })
  }
  element.addEventListener('loadedmetadata', setDuration)
  element.addEventListener('durationchange', setDuration)
  element.addEventListener('play', () => state.set({ isPlaying: true }))
  for (const name of ['pause', 'ended']) element.addEventListener(name, () => state.set({ isPlaying: false }))
  for (const name of ['seeked', 'timeupdate']) element.addEventListener(name, () => state.set({}))
  element.addEventListener('error', () => state.set({ isUnplayable: true, isPlaying: false }))
  const describe = async () => {
    const found = await readPeaks(file, Number.isFinite(element.duration) ? element.duration : undefined)
    if (found !== undefined) state.set(found)
  }
  if (hasPeaks) element.addEventListener('loadedmetadata', () => void describe(), { once: true })
  const sound: FileSound = {
    url,
    subscribe: state.subscribe,
    getState: state.get,
    getPosition: () => element.currentTime,
    play: () => {
      takeTurn(sound)
      // A refusal is visible: the sound stays paused.
      void element.play().catch(() => undefined)
    },
    pause: () => element.pause(),
    seek: (positionS) => {
      element.currentTime = Math.max(0, positionS)
    },
    close: () => {
      element.pause()
      element.removeAttribute('src')
      URL.revokeObjectURL(url)
    },
  }
  return sound
}
