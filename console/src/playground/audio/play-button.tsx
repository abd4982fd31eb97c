import { Pause, Play } from 'lucide-react'

import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import type { Sound } from './sound.ts'
import { audioTexts } from './texts.ts'
import { useSound } from './use-sound.ts'

/** `name`: what is played, for screen readers. */
export const PlayButton = ({ sound, name }: { sound: Sound | undefined; name: string }) => {
  const texts = useTexts(audioTexts)
  const { isPlaying, durationS } = useSound(sound)
  return (
    <Button
      isIcon
      icon={isPlaying ? <Pause /> : <Play />}
      label={isPlaying ? texts.pause(name) : texts.play(name)}
      isDisabled={sound === undefined || durationS === 0}
      onPress={() => (isPlaying ? sound?.pause() : sound?.play())}
    />
  )
}
