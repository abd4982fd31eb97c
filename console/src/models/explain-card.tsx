/** Which route a request would take now, why, and what it would cost. */
import type { ExplainModelRoutesParams, ModelEntry, RouteExplanation } from '@kinora/client/admin'
import { useMutation } from '@tanstack/react-query'
import { CircleCheck, CircleSlash } from 'lucide-react'
import { useState, type FormEvent } from 'react'

import { formatMoney, formatPercent } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Prose } from '../schema-form/prose.tsx'
import { kinoraAdmin } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { CheckboxField, SelectField, TextField } from '../ui/field.tsx'
import { Money } from '../ui/values.tsx'
import { getList } from './model-data.ts'
import { modelTexts } from './texts.ts'

import styles from './model-detail.module.css'

type Counted =
  | 'seconds'
  | 'images'
  | 'characters'
  | 'text_input_tokens'
  | 'audio_input_tokens'
  | 'text_output_tokens'
  | 'audio_output_tokens'

const counted: Record<ModelEntry['kind'], Counted[]> = {
  video: ['seconds', 'images'],
  speech: ['characters'],
  transcription: ['seconds'],
  chat: ['text_input_tokens', 'audio_input_tokens', 'text_output_tokens', 'audio_output_tokens'],
}

const Decision = ({ explanation }: { explanation: RouteExplanation }) => {
  const { explain: texts } = useTexts(modelTexts)
  const { routes, currency, price_micros: price } = explanation
  const taken = routes.filter(({ share }) => share > 0)
  const [first] = taken
  const sentences = [
    first === undefined
      ? texts.nowhere
      : taken.length === 1
        ? texts.certain(first.provider)
        : texts.likely(
            taken.map(({ provider, share }) => texts.share(provider, formatPercent(share))).join(', '),
          ),
    texts.pays(formatMoney(price, currency)),
    ...taken.map(({ provider, cost_micros: cost, margin_micros: margin }) =>
      cost === null || margin === null
        ? texts.chargesUnknown(provider)
        : texts.charges(provider, formatMoney(cost, currency), formatMoney(margin, currency)),
    ),
  ]
  return (
    <>
      <p role="status" className="medium">
        {sentences.join(' ')}
      </p>
      <ol className={styles['verdicts']}>
        {routes.map((route) => (
          <li key={`${route.provider} ${route.model}`}>
            {route.share > 0 ? (
              <CircleCheck aria-hidden className="good" />
            ) : (
              <CircleSlash aria-hidden className="muted" />
            )}
            <div className="grow">
              <p>
                <span className="medium">{route.provider}</span>{' '}
                <span className="muted">
                  {route.share > 0 ? `${texts.chosen}, ${formatPercent(route.share)}` : texts.skipped}
                </span>
              </p>
              <p className="soft small-text">
                <Prose text={route.reason} />
              </p>
            </div>
            {route.cost_micros !== null && (
              <div className={`${styles['amounts']} small-text`}>
                <p>
                  <span className="muted">{texts.cost}</span>{' '}
                  <Money micros={route.cost_micros} currency={currency} />
                </p>
                {route.margin_micros !== null && (
                  <p className={route.margin_micros < 0 ? 'bad' : ''}>
                    <span className="muted">{texts.margin}</span>{' '}
                    <Money micros={route.margin_micros} currency={currency} />
                  </p>
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}

export const ExplainCard = ({ model }: { model: ModelEntry }) => {
  const { explain: texts } = useTexts(modelTexts)
  const sizes = [...new Set([...getList(model, 'sizes'), ...getList(model, 'frames')])]
  const lengths = [...getList(model, 'seconds'), ...getList(model, 'durations')]
  const defaults: Record<Counted, string> = {
    ...{ seconds: model.kind === 'video' ? (lengths[0] ?? '') : '60', images: '0', characters: '1000' },
    ...{ text_input_tokens: '1000', audio_input_tokens: '0' },
    ...{ text_output_tokens: '1000', audio_output_tokens: '0' },
  }
  const [numbers, setNumbers] = useState(defaults)
  const [size, setSize] = useState(sizes[0] ?? '')
  const [hasSound, setSound] = useState(model.settings['sound'] !== 'never')
  const [isRemix, setRemix] = useState(false)
  const ask = useMutation({
    mutationFn: () => {
      const params: ExplainModelRoutesParams = {}
      for (const name of counted[model.kind])
        if (numbers[name].trim() !== '') params[name] = Number(numbers[name])
      if (model.kind === 'video') {
        if (size !== '') params.size = size
        if (model.settings['sound'] === 'optional') params.sound = hasSound
        if (isRemix) params.is_remix = true
      }
      return kinoraAdmin.models.explainRoutes(model.id, params)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    ask.mutate()
  }
  return (
    <Card title={texts.title} note={texts.note}>
      <div className="stack">
        <form className={styles['questions']} onSubmit={submit}>
          {counted[model.kind].map((name) => (
            <TextField
              key={name}
              {...{ label: texts[name], type: 'number', value: numbers[name] }}
              onChange={(value) => setNumbers({ ...numbers, [name]: value })}
            />
          ))}
          {model.kind === 'video' && sizes.length > 0 && (
            <SelectField
              label={texts.size}
              options={sizes.map((value) => ({ value, label: value }))}
              value={size}
              onChange={setSize}
            />
          )}
          {model.kind === 'video' && model.settings['sound'] === 'optional' && (
            <CheckboxField isSelected={hasSound} onChange={setSound}>
              {texts.sound}
            </CheckboxField>
          )}
          {model.kind === 'video' && (
            <CheckboxField isSelected={isRemix} onChange={setRemix}>
              {texts.remix}
            </CheckboxField>
          )}
          <Button type="submit" isBusy={ask.isPending}>
            {texts.ask}
          </Button>
        </form>
        {ask.error !== null && <ErrorPanel error={ask.error} />}
        {ask.data !== undefined && (
          <div className={styles['decision']}>
            <Decision explanation={ask.data} />
          </div>
        )}
      </div>
    </Card>
  )
}
