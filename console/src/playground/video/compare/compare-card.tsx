/** One model of the comparison: its video, what it costs and how long it took. */
import type { Quote } from '@kinora/client'
import { ArrowUpRight, Download, Shuffle, X } from 'lucide-react'
import { useEffect, useRef, type RefObject } from 'react'

import { formatDuration, formatMoney } from '../../../i18n/format.ts'
import { useTexts } from '../../../i18n/texts.ts'
import { AnchorButton, Button, LinkButton } from '../../../ui/button.tsx'
import { Facts } from '../../../ui/card.tsx'
import { SelectField } from '../../../ui/field.tsx'
import { Player } from '../../../ui/player.tsx'
import { Status, Tag } from '../../../ui/status.tsx'
import { fitForm, type VideoForm } from '../form.ts'
import { findSize, formatSize, makesSeconds, type Offer } from '../offers.ts'
import { CancelButton, Pending } from '../runs/run-progress.tsx'
import { contentUrl, isActive, readSize, type Run } from '../runs/runs.ts'
import { videoTexts } from '../texts.ts'
import { readDurationMs } from './read-duration.ts'

import styles from './compare.module.css'

interface CompareCardProps {
  offer: Offer
  form: VideoForm
  run: Run | undefined
  price: Quote | undefined
  number: number
  choices: Offer[]
  isLowest: boolean
  isFastest: boolean
  onChoose: (model: string) => void
  onRemove?: () => void
  /** The players that the scrubber moves, by their model. */
  videos: RefObject<Map<string, HTMLVideoElement>>
}

export const CompareCard = ({
  offer,
  form,
  run,
  price,
  number,
  choices,
  isLowest,
  isFastest,
  onChoose,
  onRemove,
  videos,
}: CompareCardProps) => {
  const texts = useTexts(videoTexts)
  const video = useRef<HTMLVideoElement>(null)
  const { model } = offer
  const fitted = fitForm(form, offer)
  const isOther = !makesSeconds(offer, form.seconds) || findSize(offer, form) === undefined
  const isMade = run?.status === 'completed'
  useEffect(() => {
    const players = videos.current
    if (isMade && video.current !== null) players.set(model.id, video.current)
    return () => {
      players.delete(model.id)
    }
  }, [isMade, model.id, videos])
  const paid = run?.details
  return (
    <article className={styles['card']} aria-label={model.id}>
      <header className={styles['header']}>
        <div className="grow">
          <SelectField
            label={texts.compare.slot(number)}
            isHiddenLabel
            isSmall
            options={choices.map((choice) => ({ value: choice.model.id, label: choice.model.id }))}
            value={model.id}
            onChange={onChoose}
          />
        </div>
        {run !== undefined && <Status status={run.status} progress={run.progress} />}
        {onRemove !== undefined && (
          <Button
            variant="ghost"
            size="small"
            isIcon
            icon={<X />}
            label={texts.compare.remove(model.id)}
            onPress={onRemove}
          />
        )}
      </header>
      {run === undefined ? (
        <div className={styles['empty']} style={{ aspectRatio: `${fitted.width} / ${fitted.height}` }}>
          {texts.compare.empty}
        </div>
      ) : isMade ? (
        <Player
          isBare
          isMuted
          videoRef={video}
          title={texts.playerTitle(model.id)}
          source={run.video_url ?? contentUrl(run.id)}
          poster={contentUrl(run.id, 'thumbnail')}
          {...readSize(run.size)}
          seconds={run.seconds}
        />
      ) : isActive(run) ? (
        <Pending run={run} />
      ) : (
        <div className={styles['empty']} style={{ aspectRatio: '16 / 9' }}>
          {run.error?.message ?? texts.failedTitle}
        </div>
      )}
      <div className={styles['facts']}>
        {isOther && (
          <p className="fair small-text">
            {texts.compare.cannot(model.id)} {texts.secondsText(fitted.seconds)}, {formatSize(fitted)}
          </p>
        )}
        <Facts
          rows={[
            [
              texts.compare.price,
              <span key="price">
                {paid?.captured_micros != null
                  ? formatMoney(paid.captured_micros, paid.currency)
                  : price === undefined
                    ? '—'
                    : formatMoney(price.total_micros, price.currency)}{' '}
                {isLowest && <Tag color="green">{texts.compare.lowest}</Tag>}
              </span>,
            ],
            [
              texts.compare.time,
              <span key="time">
                {isMade ? formatDuration(readDurationMs(run)) : '—'}{' '}
                {isFastest && <Tag color="green">{texts.compare.fastest}</Tag>}
              </span>,
            ],
            [texts.compare.picture, formatSize(run === undefined ? fitted : readSize(run.size))],
            [texts.sound, texts.soundOf[offer.sound]],
          ]}
        />
      </div>
      {run !== undefined && (
        <footer className={styles['footer']}>
          {isActive(run) && <CancelButton run={run} />}
          {isMade && (
            <>
              <AnchorButton
                isIcon
                variant="ghost"
                size="small"
                label={texts.download}
                icon={<Download />}
                href={run.video_url ?? contentUrl(run.id)}
                download={`${run.id.replaceAll(':', '-')}.mp4`}
              />
              <LinkButton
                variant="ghost"
                size="small"
                to="/playground/video"
                search={{ remix: run.id }}
                icon={<Shuffle />}
              >
                {texts.remix}
              </LinkButton>
            </>
          )}
          <LinkButton
            variant="ghost"
            size="small"
            to="/tasks/$id"
            params={{ id: run.id }}
            icon={<ArrowUpRight />}
          >
            {texts.openTask}
          </LinkButton>
        </footer>
      )}
    </article>
  )
}
