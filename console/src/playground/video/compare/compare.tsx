/** Up to four models with one prompt, and one scrubber for all of their videos. */
import type { Quote } from '@kinora/client'
import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useRef } from 'react'

import { useTexts } from '../../../i18n/texts.ts'
import { Button } from '../../../ui/button.tsx'
import { ErrorPanel } from '../../../ui/feedback.tsx'
import type { VideoForm } from '../form.ts'
import type { Offer } from '../offers.ts'
import { useRuns } from '../runs/runs.ts'
import { videoTexts } from '../texts.ts'
import { CompareCard } from './compare-card.tsx'
import { readDurationMs } from './read-duration.ts'
import { Scrubber } from './scrubber.tsx'

import styles from './compare.module.css'

const comparedMax = 4

interface CompareProps {
  offers: Offer[]
  compared: Offer[]
  form: VideoForm
  quotes: Quote[] | undefined
  /** The runs of this comparison, by their model. */
  slots: Record<string, string>
}

export const Compare = ({ offers, compared, form, quotes, slots }: CompareProps) => {
  const texts = useTexts(videoTexts)
  const navigate = useNavigate()
  const { data: runs = [], error } = useRuns()
  const videos = useRef(new Map<string, HTMLVideoElement>())
  const show = (models: string[]) =>
    void navigate({ to: '/playground/video', search: { compare: models.join(',') }, replace: true })
  const ids = compared.map(({ model }) => model.id)
  const rest = offers.filter(({ model }) => !ids.includes(model.id))
  const runOf = (model: string) => runs.find(({ id }) => id === slots[model])
  const made = ids.map(runOf).filter((run) => run?.status === 'completed')
  const times = made.flatMap((run) => (run === undefined ? [] : [readDurationMs(run)]))
  const prices = quotes?.map(({ total_micros: micros }) => micros) ?? []
  return (
    <>
      <div className="row between wrap">
        <h2>
          {texts.compare.title}{' '}
          <span className="muted small-text">{texts.compare.note(compared.length)}</span>
        </h2>
        {compared.length < comparedMax && rest[0] !== undefined && (
          <Button size="small" icon={<Plus />} onPress={() => show([...ids, rest[0]?.model.id ?? ''])}>
            {texts.compare.add}
          </Button>
        )}
      </div>
      {error !== null && <ErrorPanel error={error} />}
      <div className={styles['grid']}>
        {compared.map((offer, index) => {
          const run = runOf(offer.model.id)
          const price = quotes?.length === compared.length ? quotes[index] : undefined
          return (
            <CompareCard
              key={offer.model.id}
              {...{ offer, form, run, price }}
              number={index + 1}
              choices={[offer, ...rest]}
              isLowest={prices.length > 1 && price?.total_micros === Math.min(...prices)}
              isFastest={
                times.length > 1 && run?.status === 'completed' && readDurationMs(run) === Math.min(...times)
              }
              onChoose={(model) => show(ids.map((id) => (id === offer.model.id ? model : id)))}
              {...(compared.length > 1 && {
                onRemove: () => show(ids.filter((id) => id !== offer.model.id)),
              })}
              videos={videos}
            />
          )
        })}
      </div>
      {made.length > 0 && <Scrubber videos={videos} models={made.map((run) => run?.model ?? '')} />}
    </>
  )
}
