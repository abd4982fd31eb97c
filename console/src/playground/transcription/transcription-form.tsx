import { transcriptionPromptCharactersMax } from '../../generated/audio-limits.ts'
import { formatDuration } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ChoiceField } from '../../ui/choice.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { findPrice, type AudioModel } from '../audio/audio-models.ts'
import { ModelField } from '../audio/model-field.tsx'
import { RunBar } from '../audio/run-bar.tsx'
import { languageOptions } from './languages.ts'
import { RecordingField } from './recording-field.tsx'
import { startRun, stopRun, useRun } from './runs.ts'
import { transcriptionTexts } from './texts.ts'
import { useDuration, type FormFields } from './transcription-fields.ts'

import layout from '../audio/layout.module.css'

interface TranscriptionFormProps {
  models: AudioModel[]
  form: FormFields
  setForm: (changes: Partial<FormFields>) => void
}

const priceOf = (model: AudioModel | undefined, durationS: number | undefined) => {
  const price = model && findPrice(model, 'minute')
  if (price === undefined || durationS === undefined) return undefined
  return { micros: Math.ceil((durationS / 60) * price.unit_micros), currency: price.currency }
}

export const TranscriptionForm = ({ models, form, setForm }: TranscriptionFormProps) => {
  const texts = useTexts(transcriptionTexts)
  const run = useRun()
  const durationS = useDuration(form.file)
  const model = models.find(({ id }) => id === form.model)
  const canTranslate = model?.endpoints.includes('/v1/audio/translations') === true
  const isBusy = run?.state === 'uploading' || run?.state === 'working'
  const isPossible = form.mode === 'transcribe' || canTranslate
  const { file } = form
  return (
    <form className={layout['form']} onSubmit={(event) => event.preventDefault()}>
      <div className={layout['fields']}>
        <ChoiceField
          label={texts.task}
          choices={[
            { value: 'transcribe', label: texts.transcribe },
            {
              value: 'translate',
              label: texts.translate,
              ...(!canTranslate && { reason: texts.cannotTranslate(form.model) }),
            },
          ]}
          value={isPossible ? form.mode : 'transcribe'}
          onChange={(mode) => setForm({ mode })}
        />
        <RecordingField file={file} onChange={(chosen) => setForm({ file: chosen })} />
        <ModelField
          models={models}
          value={form.model}
          onChange={(id) => setForm({ model: id, ...(form.mode === 'translate' && { mode: 'transcribe' }) })}
        />
        <div className={layout['pair']}>
          <SelectField
            label={texts.language}
            options={[{ value: '', label: texts.detect }, ...languageOptions]}
            value={form.language}
            onChange={(language) => setForm({ language })}
            isDisabled={form.mode === 'translate'}
          />
          <TextField
            label={texts.prompt}
            range={texts.optional}
            placeholder={texts.promptHint}
            value={form.prompt}
            onChange={(prompt) => setForm({ prompt })}
            maxLength={transcriptionPromptCharactersMax}
          />
        </div>
        <ChoiceField
          label={texts.timestamps}
          choices={[
            { value: 'none', label: texts.none },
            { value: 'segment', label: texts.segments },
            ...(form.mode === 'transcribe' ? [{ value: 'word' as const, label: texts.words }] : []),
          ]}
          value={form.mode === 'translate' && form.timestamps === 'word' ? 'segment' : form.timestamps}
          onChange={(timestamps) => setForm({ timestamps })}
        />
        {form.timestamps === 'none' && form.mode === 'transcribe' && (
          <p className="muted small-text">{texts.streams}</p>
        )}
      </div>
      <RunBar
        price={priceOf(model, durationS)}
        prefix={texts.about}
        detail={
          durationS === undefined
            ? (file?.name ?? texts.noFile)
            : texts.audioOf(formatDuration(durationS * 1_000))
        }
      >
        {isBusy ? (
          <Button size="large" onPress={stopRun}>
            {texts.stop}
          </Button>
        ) : (
          <Button
            variant="primary"
            size="large"
            isDisabled={file === undefined || !isPossible}
            onPress={() => file !== undefined && void startRun(file, form)}
          >
            {form.mode === 'translate' ? texts.translateShort : texts.transcribe}
          </Button>
        )}
      </RunBar>
    </form>
  )
}
