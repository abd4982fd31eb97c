/** A sound that can be played. Only one plays at a time. */
export interface SoundState {
  /** Seconds that can be played. */
  durationS: number
  /** Loudness from 0 to 1, `peaksPerSecond` of them. Undefined if it is unknown. */
  peaks: Float32Array | undefined
  isPlaying: boolean
  /** Whether more will come. */
  isGrowing: boolean
  /** The browser cannot play this format. */
  isUnplayable: boolean
}

export interface Sound {
  subscribe: (onChange: () => void) => () => void
  getState: () => SoundState
  /** Seconds from the start. */
  getPosition: () => number
  play: () => void
  pause: () => void
  seek: (positionS: number) => void
  close: () => void
}

export const silence: SoundState = {
  durationS: 0,
  peaks: undefined,
  isPlaying: false,
  isGrowing: false,
  isUnplayable: false,
}

let playing: Sound | undefined

/** Pauses what plays elsewhere. */
export const takeTurn = (sound: Sound): void => {
  if (playing !== sound) playing?.pause()
  playing = sound
}

/** The state of a sound, and who is told when it changes. */
export const createSoundState = () => {
  let state = silence
  const watchers = new Set<() => void>()
  return {
    get: () => state,
    set: (changes: Partial<SoundState>) => {
      state = { ...state, ...changes }
      for (const watcher of watchers) watcher()
    },
    subscribe: (onChange: () => void) => {
      watchers.add(onChange)
      return () => {
        watchers.delete(onChange)
      }
    },
  }
}
