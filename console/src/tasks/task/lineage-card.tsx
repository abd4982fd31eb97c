/** The video that this one was made from, and those that were made from it. */
import { Link } from '@tanstack/react-router'
import { Clapperboard } from 'lucide-react'
import { useState } from 'react'

import { formatAge, shortenId } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { Card } from '../../ui/card.tsx'
import { Status } from '../../ui/status.tsx'
import { contentUrl, type TaskView } from './task-data.ts'
import { taskTexts } from './texts.ts'

import styles from './lineage-card.module.css'

/** A poster that is missing, or not made yet, leaves its place. */
const Poster = ({ id, isShown }: { id: string; isShown: boolean }) => {
  const [hasFailed, setFailed] = useState(false)
  return (
    <span className={styles['poster']}>
      {isShown && !hasFailed ? (
        <img src={contentUrl(id, 'thumbnail', true)} alt="" loading="lazy" onError={() => setFailed(true)} />
      ) : (
        <Clapperboard aria-hidden />
      )}
    </span>
  )
}

const remixesMax = 6

export const LineageCard = ({ view }: { view: TaskView }) => {
  const { lineage: texts } = useTexts(taskTexts)
  const { lineage, own, id, prompt } = view
  const { source, remixes } = lineage
  if (source === null && remixes.length === 0) return null
  const isOwn = own !== null
  const indent = source === null ? '' : (styles['indented'] ?? '')
  return (
    <Card title={texts.title}>
      <ul className={styles['lineage']}>
        {source !== null && (
          <li>
            <Link to="/tasks/$id" params={{ id: source.id }} className={styles['item'] ?? ''}>
              <Poster id={source.id} isShown={isOwn && source.status === 'completed'} />
              <span className={styles['words']}>
                <span className="medium ellipsis">{source.prompt ?? shortenId(source.id)}</span>
                <span className="muted small-text">
                  {source.status === null ? texts.deleted : texts.original}
                </span>
              </span>
            </Link>
          </li>
        )}
        <li className={`${styles['item']} ${indent}`} aria-current="true">
          <Poster id={id} isShown={isOwn && view.variants.includes('thumbnail')} />
          <span className={styles['words']}>
            <span className="medium ellipsis">{texts.current}</span>
            <span className="muted small-text ellipsis">
              {source === null ? texts.original : (prompt ?? texts.remix)}
            </span>
          </span>
        </li>
        {remixes.slice(0, remixesMax).map((remix) => (
          <li key={remix.id} className={source === null ? styles['indented'] : styles['twice']}>
            <Link to="/tasks/$id" params={{ id: remix.id }} className={styles['item'] ?? ''}>
              <Poster id={remix.id} isShown={isOwn && remix.status === 'completed'} />
              <span className={styles['words']}>
                <span className="medium mono ellipsis">{shortenId(remix.id)}</span>
                {remix.status === 'completed' ? (
                  <span className="muted small-text">{texts.remixAt(formatAge(remix.created_at))}</span>
                ) : (
                  <Status status={remix.status} isBare />
                )}
              </span>
            </Link>
          </li>
        ))}
        {remixes.length > remixesMax && (
          <li className={`${styles['indented']} muted small-text`}>
            {texts.more(remixes.length - remixesMax)}
          </li>
        )}
      </ul>
    </Card>
  )
}
