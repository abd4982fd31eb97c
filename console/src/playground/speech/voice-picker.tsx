/** The voices of a model, by language. Each has a sample, which is free. */
import type { ListVoicesItem } from '@kinora/client'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { Label } from 'react-aria-components/Label'
import { Radio, RadioGroup } from 'react-aria-components/RadioGroup'

import { formatNumber } from '../../i18n/format.ts'
import { locale } from '../../i18n/language.ts'
import { useTexts } from '../../i18n/texts.ts'
import { kinora } from '../../service.ts'
import { Button } from '../../ui/button.tsx'
import { showToast } from '../../ui/toast.tsx'
import { createFileSound, type FileSound } from '../audio/file-sound.ts'
import { audioTexts } from '../audio/texts.ts'
import { useSound } from '../audio/use-sound.ts'
import { speechTexts } from './texts.ts'

import styles from './voice-picker.module.css'

const voicesQuery = queryOptions({
  queryKey: ['voices'],
  queryFn: async () => {
    const voices = new Map<string, ListVoicesItem>()
    for await (const voice of kinora.voices.list()) voices.set(voice.name, voice)
    return voices
  },
  staleTime: 300_000,
})

/** Samples that were played, by their links. */
const samples = new Map<string, Promise<FileSound>>()

const loadSample = async (link: string): Promise<FileSound> => {
  const { pathname, searchParams } = new URL(link)
  const [, model = '', voice = ''] = /\/voices\/([^/]+)\/([^/]+)\/sample/.exec(pathname) ?? []
  const read = (name: string) => searchParams.get(name) ?? ''
  const file = await kinora.voices.sample(
    decodeURIComponent(model),
    decodeURIComponent(voice),
    { expires: read('expires'), key: read('key'), signature: read('signature') },
    { timeoutMs: 600_000 },
  )
  return createFileSound(await file.blob(), false)
}

const openSample = (link: string): Promise<FileSound> => {
  const found = samples.get(link)
  if (found !== undefined) return found
  const loading = loadSample(link)
  samples.set(link, loading)
  loading.catch(() => samples.delete(link))
  return loading
}

const languageNames = new Intl.DisplayNames([locale], { type: 'language' })

const SampleButton = ({ voice: { name, sample } }: { voice: ListVoicesItem }) => {
  const texts = useTexts(speechTexts)
  const audio = useTexts(audioTexts)
  const [sound, setSound] = useState<FileSound>()
  const [isLoading, setLoading] = useState(false)
  const { isPlaying } = useSound(sound)
  if (sample === null) return <span className={styles['noSample']} />
  const play = async () => {
    if (isPlaying) {
      sound?.pause()
      return
    }
    setLoading(true)
    try {
      const loaded = await openSample(sample)
      setSound(loaded)
      loaded.seek(0)
      loaded.play()
    } catch {
      showToast(texts.noSample(name))
    }
    setLoading(false)
  }
  const named = texts.sample(name)
  return (
    <Button
      variant="ghost"
      size="small"
      isIcon
      icon={isPlaying ? <Pause /> : <Play />}
      label={isPlaying ? audio.pause(named) : audio.play(named)}
      isBusy={isLoading}
      onPress={() => void play()}
    />
  )
}

interface VoicePickerProps {
  names: string[]
  value: string
  onChange: (name: string) => void
}

export const VoicePicker = ({ names, value, onChange }: VoicePickerProps) => {
  const texts = useTexts(speechTexts)
  const { data: known } = useQuery(voicesQuery)
  const voices = names.map(
    (name): ListVoicesItem =>
      known?.get(name) ?? { name, object: 'voice', language: null, gender: null, models: [], sample: null },
  )
  const groups = Map.groupBy(voices, ({ language }) => language ?? '')
  const nameLanguage = (code: string) =>
    code === '' ? texts.otherLanguage : (languageNames.of(code) ?? code)
  return (
    <RadioGroup value={value} onChange={onChange} className={styles['picker'] ?? ''}>
      <div className={styles['head']}>
        <Label>{texts.voice}</Label>
        <span className={`muted small-text ${styles['remark']}`}>
          {texts.voices(formatNumber(names.length))}
        </span>
      </div>
      {[...groups].map(([language, members]) => (
        <div key={language} className={styles['group']}>
          {groups.size > 1 && <p className={styles['language']}>{nameLanguage(language)}</p>}
          <div className={styles['voices']}>
            {members.map((voice) => (
              <div
                key={voice.name}
                className={styles['voice']}
                data-chosen={voice.name === value || undefined}
              >
                <SampleButton voice={voice} />
                <Radio value={voice.name} className={styles['name'] ?? ''}>
                  <span className="medium ellipsis">{voice.name}</span>
                  <span className="muted tiny-text ellipsis">
                    {voice.gender !== null && texts.gender[voice.gender]}
                  </span>
                </Radio>
              </div>
            ))}
          </div>
        </div>
      ))}
    </RadioGroup>
  )
}
