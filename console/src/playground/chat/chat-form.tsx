import type { Quote } from '@kinora/client'

import { useReasons } from '../../errors/use-reasons.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Button } from '../../ui/button.tsx'
import { ChoiceField } from '../../ui/choice.tsx'
import { Note } from '../../ui/feedback.tsx'
import { TextField } from '../../ui/field.tsx'
import type { AudioModel } from '../audio/audio-models.ts'
import { FailureNote } from '../audio/failure-note.tsx'
import { ModelField } from '../audio/model-field.tsx'
import { RunBar } from '../audio/run-bar.tsx'
import { VoicePicker } from '../speech/voice-picker.tsx'
import { clearTurns, useTurns, type ChatFields } from './conversation.ts'
import { chatTexts } from './texts.ts'

import layout from '../audio/layout.module.css'

interface ChatFormProps {
  models: AudioModel[]
  form: ChatFields
  setForm: (changes: Partial<ChatFields>) => void
  quote: Quote | undefined
  error: unknown
}

export const ChatForm = ({ models, form, setForm, quote, error }: ChatFormProps) => {
  const texts = useTexts(chatTexts)
  const reasons = useReasons()
  const turns = useTurns()
  const price = quote && { micros: quote.total_micros, currency: quote.currency }
  return (
    <form className={layout['form']} onSubmit={(event) => event.preventDefault()}>
      <div className={layout['fields']}>
        <ModelField models={models} value={form.model} onChange={(model) => setForm({ model })} />
        <ChoiceField
          label={texts.reply}
          choices={[
            { value: 'spoken', label: texts.spoken },
            { value: 'written', label: texts.written },
          ]}
          value={form.reply}
          onChange={(reply) => setForm({ reply })}
        />
        {form.reply === 'spoken' && (
          <VoicePicker
            names={models.find(({ id }) => id === form.model)?.voices ?? []}
            value={form.voice}
            onChange={(voice) => setForm({ voice })}
          />
        )}
        <TextField
          isMultiline
          rows={2}
          label={texts.system}
          range={texts.optional}
          placeholder={texts.systemHint}
          value={form.system}
          onChange={(system) => setForm({ system })}
        />
        {error !== null && (
          <FailureNote error={error}>
            <Button size="small" onPress={() => setForm({ reply: 'written' })}>
              {texts.writeInstead}
            </Button>
          </FailureNote>
        )}
        {quote?.refusal != null && <Note kind="warning">{reasons.ofCode(quote.refusal)}</Note>}
      </div>
      <RunBar price={price} prefix={texts.atMost} detail={texts.forNext}>
        <Button isDisabled={turns.length === 0} onPress={clearTurns}>
          {texts.clear}
        </Button>
      </RunBar>
    </form>
  )
}
