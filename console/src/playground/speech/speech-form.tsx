import type { KeyboardEvent } from 'react'

import { useReasons } from '../../errors/use-reasons.ts'
import {
  instructionsCharactersMax,
  speechCharactersMax,
  speechFormats,
  speechSpeed,
} from '../../generated/audio-limits.ts'
import { formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ChoiceField } from '../../ui/choice.tsx'
import { Note } from '../../ui/feedback.tsx'
import { TextField } from '../../ui/field.tsx'
import type { AudioModel } from '../audio/audio-models.ts'
import { FailureNote } from '../audio/failure-note.tsx'
import { ModelField } from '../audio/model-field.tsx'
import { RunBar } from '../audio/run-bar.tsx'
import { SliderField } from '../audio/slider-field.tsx'
import {
  buildBody,
  countCharacters,
  isComplete,
  useFollowsInstructions,
  useQuote,
  type SpeechFields,
} from './speech-fields.ts'
import { startTake } from './takes.ts'
import { speechTexts } from './texts.ts'
import { VoicePicker } from './voice-picker.tsx'

import layout from '../audio/layout.module.css'

interface SpeechFormProps {
  models: AudioModel[]
  form: SpeechFields
  setForm: (changes: Partial<SpeechFields>) => void
}

export const SpeechForm = ({ models, form, setForm }: SpeechFormProps) => {
  const texts = useTexts(speechTexts)
  const reasons = useReasons()
  const { data: quote, error, refetch } = useQuote(form)
  const followsInstructions = useFollowsInstructions(form)
  const characters = countCharacters(form.text)
  const isTooLong = characters > speechCharactersMax
  const price = quote && { micros: quote.total_micros, currency: quote.currency }
  const mayRun = isComplete(form) && quote?.fits !== false && error === null
  const run = () => {
    if (!mayRun) return
    startTake(buildBody(followsInstructions === false ? { ...form, instructions: '' } : form), price)
  }
  const runByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return
    event.preventDefault()
    run()
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- for the keys of the fields inside
    <form className={layout['form']} onKeyDown={runByKey} onSubmit={(event) => event.preventDefault()}>
      <div className={layout['fields']}>
        <ModelField models={models} value={form.model} onChange={(model) => setForm({ model })} />
        <TextField
          isMultiline
          rows={5}
          label={texts.text}
          range={texts.characters(formatNumber(characters), formatNumber(speechCharactersMax))}
          value={form.text}
          onChange={(text) => setForm({ text })}
          {...(isTooLong && { error: texts.textTooLong(formatNumber(speechCharactersMax)) })}
          {...(form.text.trim() === '' && { help: texts.textMissing })}
        />
        <VoicePicker
          names={models.find(({ id }) => id === form.model)?.voices ?? []}
          value={form.voice}
          onChange={(voice) => setForm({ voice })}
        />
        <TextField
          label={texts.instructions}
          range={texts.optional}
          placeholder={followsInstructions === false ? '' : texts.instructionsHint}
          value={followsInstructions === false ? '' : form.instructions}
          onChange={(instructions) => setForm({ instructions })}
          isDisabled={followsInstructions === false}
          maxLength={instructionsCharactersMax}
          {...(followsInstructions === false && { help: texts.instructionsIgnored(form.model) })}
        />
        <SliderField
          label={texts.speed}
          {...speechSpeed}
          step={0.05}
          value={form.speed}
          onChange={(speed) => setForm({ speed })}
          format={(value) => `${formatNumber(value, 2)}×`}
        />
        <ChoiceField
          label={texts.format}
          choices={speechFormats.map((format) => ({ value: format, label: format }))}
          value={form.format}
          onChange={(format) => setForm({ format })}
          {...(form.format === 'pcm' && { range: texts.pcm })}
        />
        {error !== null && <FailureNote error={error} onRetry={() => void refetch()} />}
        {quote?.refusal != null && <Note kind="warning">{reasons.ofCode(quote.refusal)}</Note>}
      </div>
      <RunBar price={price} detail={texts.charactersOnly(formatNumber(characters))}>
        <Button variant="primary" size="large" isDisabled={!mayRun} onPress={run}>
          {texts.speak}
        </Button>
      </RunBar>
    </form>
  )
}
