import { useEffect, useState, useSyncExternalStore } from 'react'

import { silence, type Sound, type SoundState } from './sound.ts'

const watchNothing = () => () => undefined

export const useSound = (sound: Sound | undefined): SoundState =>
  useSyncExternalStore(sound?.subscribe ?? watchNothing, sound?.getState ?? (() => silence))

/** Follows the position while the sound plays, ten times a second. */
export const usePosition = (sound: Sound | undefined): number => {
  const { isPlaying } = useSound(sound)
  const [, setTenths] = useState(0)
  useEffect(() => {
    if (!isPlaying || sound === undefined) return
    let frame = 0
    const follow = () => {
      setTenths(Math.floor(sound.getPosition() * 10))
      frame = requestAnimationFrame(follow)
    }
    frame = requestAnimationFrame(follow)
    return () => cancelAnimationFrame(frame)
  }, [isPlaying, sound])
  return sound?.getPosition() ?? 0
}
