/** All models in a table; on phones in rows of two lines. */
import { Link } from '@tanstack/react-router'
import { Search, TriangleAlert } from 'lucide-react'
import { useState } from 'react'

import { formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { Button } from '../ui/button.tsx'
import { Segmented } from '../ui/choice.tsx'
import { EmptyState } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { Tag } from '../ui/status.tsx'
import { Money } from '../ui/values.tsx'
import { getText, type ModelRow } from './model-data.ts'
import { modelTexts } from './texts.ts'

import styles from './model-list.module.css'

type Kind = ModelRow['model']['kind']
const kinds: (Kind | 'all')[] = ['all', 'video', 'speech', 'transcription', 'chat']

export const stateColors = { active: 'green', deprecated: 'amber', retired: 'grey' } as const

const Row = ({ row }: { row: ModelRow }) => {
  const texts = useTexts(modelTexts)
  const { model, aliases, prices, routes, requests } = row
  const [first] = prices
  const shutdown = getText(model, 'shutdown_date')
  return (
    <li>
      <Link to="/models" search={{ id: model.id }} className={styles['row'] ?? ''}>
        <span className={styles['name']}>
          <span className="medium ellipsis">{model.id}</span>
          {model.problem !== null && (
            <Tag color="red">
              <TriangleAlert aria-hidden />
              {texts.problem}
            </Tag>
          )}
          {aliases.length > 0 && (
            <span className={`${styles['also']} muted small-text ellipsis`}>
              {texts.also(aliases.join(', '))}
            </span>
          )}
        </span>
        <span className={`${styles['kind']} soft`}>{texts.kinds[model.kind]}</span>
        <span className={styles['state']}>
          <Tag color={stateColors[model.state]}>{texts.states[model.state]}</Tag>
          {shutdown !== undefined && model.state !== 'retired' && (
            <span className="muted small-text nowrap">{texts.shutsDown(shutdown)}</span>
          )}
        </span>
        <span className={styles['routes']}>
          {routes.length === 0 && <span className="fair">{texts.noRoute}</span>}
          {routes.map(({ provider, isHealthy }) => (
            <span key={provider} className={isHealthy ? '' : styles['sick']}>
              {provider}
            </span>
          ))}
        </span>
        <span className={`${styles['price']} number`}>
          {first === undefined ? (
            <span className="muted">{texts.noPrice}</span>
          ) : (
            <>
              <Money micros={first.unit_micros} currency={first.currency} />
              <span className="muted small-text">
                {texts.units[first.unit] ?? first.unit}
                {prices.length > 1 && ` +${prices.length - 1}`}
              </span>
            </>
          )}
        </span>
        <span className={`${styles['requests']} number`}>
          {requests === undefined ? '' : formatNumber(requests)}
        </span>
      </Link>
    </li>
  )
}

export const ModelList = ({ rows }: { rows: ModelRow[] }) => {
  const texts = useTexts(modelTexts)
  const [kind, setKind] = useState<Kind | 'all'>('all')
  const [text, setText] = useState('')
  const sought = text.trim().toLowerCase()
  const shown = rows
    .filter(({ model }) => kind === 'all' || model.kind === kind)
    .filter(({ model, aliases, routes }) =>
      [model.id, ...aliases, ...routes.map(({ provider }) => provider)].some((name) =>
        name.toLowerCase().includes(sought),
      ),
    )
  const { columns } = texts
  return (
    <>
      <div className={styles['filters']}>
        <div className={styles['search']}>
          <TextField
            {...{ label: texts.search, isHiddenLabel: true, placeholder: texts.search, type: 'search' }}
            {...{ icon: <Search aria-hidden />, value: text, onChange: setText }}
          />
        </div>
        <div className={styles['kinds']}>
          <Segmented
            label={texts.kindFilter}
            value={kind}
            onChange={setKind}
            options={kinds.map((value) => ({ value, label: texts.kinds[value] }))}
          />
        </div>
      </div>
      {shown.length === 0 ? (
        <EmptyState
          title={texts.noMatch}
          actions={
            <Button
              onPress={() => {
                setKind('all')
                setText('')
              }}
            >
              {texts.showAll}
            </Button>
          }
        />
      ) : (
        <div className={styles['table']}>
          <div className={styles['head']} aria-hidden>
            <span>{columns.model}</span>
            <span>{columns.kind}</span>
            <span>{columns.state}</span>
            <span>{columns.routes}</span>
            <span className="number">{columns.price}</span>
            <span className="number">{columns.requests}</span>
          </div>
          <ul aria-label={texts.title}>
            {shown.map((row) => (
              <Row key={row.model.id} row={row} />
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
