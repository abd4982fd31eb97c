/** What customers pay for a model: now, planned and before. */
import type { ModelEntry, PriceVersion } from '@kinora/client/admin'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { hasRole, useSession } from '../session/session.ts'
import { Button } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Tag } from '../ui/status.tsx'
import { Money, Time } from '../ui/values.tsx'
import { modelPricesQuery, pricesQuery } from './model-data.ts'
import { PriceSheet } from './price-sheet.tsx'
import { modelTexts } from './texts.ts'

import styles from './model-detail.module.css'

const isSame = (one: PriceVersion, other: PriceVersion) =>
  (['unit', 'resolution', 'sound', 'input', 'version'] as const).every((name) => one[name] === other[name])

export const PricesCard = ({ model }: { model: ModelEntry }) => {
  const texts = useTexts(modelTexts)
  const mayChange = hasRole(useSession(), 'finance')
  const all = useQuery(modelPricesQuery(model.id))
  const current = useQuery(pricesQuery)
  const [isChanging, setChanging] = useState(false)
  const [showsPast, setShowsPast] = useState(false)
  const { prices } = texts
  const now = (current.data ?? []).filter((price) => price.model === model.id)
  const others = (all.data ?? []).filter((price) => !now.some((each) => isSame(each, price)))
  const latest = (price: PriceVersion) =>
    now.find(
      ({ unit, resolution, sound, input }) =>
        unit === price.unit &&
        resolution === price.resolution &&
        sound === price.sound &&
        input === price.input,
    )
  const isPlanned = (price: PriceVersion) => price.version > (latest(price)?.version ?? -1)
  const planned = others.filter(isPlanned)
  const past = others.filter((price) => !isPlanned(price))
  const error = all.error ?? current.error
  const describe = ({ resolution, sound, input }: PriceVersion) =>
    [
      resolution,
      sound === null ? null : sound ? prices.conditions.sound : prices.conditions.noSound,
      input === null ? null : prices.conditions[input as 'text' | 'image' | 'video'],
    ].filter((part) => part !== null)
  const show = (price: PriceVersion, state: 'now' | 'planned' | 'past') => (
    <li key={`${price.unit} ${describe(price).join(' ')} ${price.version} ${price.starts_at ?? ''}`}>
      <div className="grow">
        <p className={state === 'past' ? 'muted' : 'medium'}>
          <Money micros={price.unit_micros} currency={price.currency} />{' '}
          <span className="soft">{texts.units[price.unit] ?? price.unit}</span>
        </p>
        <p className={styles['facts']}>
          {describe(price).map((part) => (
            <span key={part}>{part}</span>
          ))}
          <span>{texts.sources[price.source]}</span>
          {price.starts_at !== null && (
            <span>
              {prices.from} <Time at={price.starts_at} />
            </span>
          )}
        </p>
      </div>
      {state !== 'now' && <Tag color={state === 'planned' ? 'blue' : 'grey'}>{prices[state]}</Tag>}
    </li>
  )
  return (
    <Card
      title={prices.title}
      note={prices.note}
      actions={
        mayChange && (
          <Button size="small" onPress={() => setChanging(true)}>
            {prices.change}
          </Button>
        )
      }
      isFlush
    >
      {error !== null && <ErrorPanel error={error} />}
      {all.isPending && error === null && <Skeleton height={60} />}
      {all.data !== undefined && now.length === 0 && planned.length === 0 && (
        <p className={`${styles['empty']} fair`}>{prices.empty}</p>
      )}
      <ul className={styles['list']} aria-label={prices.title}>
        {now.map((price) => show(price, 'now'))}
        {planned.map((price) => show(price, 'planned'))}
        {showsPast && past.map((price) => show(price, 'past'))}
      </ul>
      {past.length > 0 && !showsPast && (
        <div className={styles['foot']}>
          <Button size="small" variant="ghost" onPress={() => setShowsPast(true)}>
            {prices.history(past.length)}
          </Button>
        </div>
      )}
      {isChanging && <PriceSheet model={model} prices={now} onClose={() => setChanging(false)} />}
    </Card>
  )
}
