/** What an operator has to do, most severe first. */
import { BookOpen, CircleCheck, CircleX, Clock, TriangleAlert } from 'lucide-react'
import { useState } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { AnchorButton, Button, LinkButton } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Tag } from '../../ui/status.tsx'
import { Time } from '../../ui/values.tsx'
import type { Attention } from '../overview-data.ts'
import { overviewTexts } from '../texts.ts'
import { findScreen } from './find-screen.ts'

import styles from './attention-card.module.css'

const icons = { page: CircleX, ticket: TriangleAlert, notice: Clock }
const severityOf = ({ severity }: Attention): keyof typeof icons =>
  severity === 'page' || severity === 'ticket' ? severity : 'notice'

/** So that the card is about as high as the one beside it. */
const shownMax = 4

const Entry = ({ entry }: { entry: Attention }) => {
  const texts = useTexts(overviewTexts)
  const severity = severityOf(entry)
  const Icon = icons[severity]
  const { title, text } = texts.attentionTexts[entry.code]?.(entry.subject?.id ?? '', entry.count) ?? entry
  const screen = findScreen(entry)
  return (
    <li className={styles['entry']} data-severity={severity}>
      <span className={styles['icon']} role="img" aria-label={texts.attention.severities[severity]}>
        <Icon aria-hidden />
      </span>
      <div className={styles['text']}>
        <h3>{title}</h3>
        <p className="muted small-text">{text}</p>
        {entry.since !== null && (
          <p className="muted small-text">
            {texts.attention.since} <Time at={entry.since} />
          </p>
        )}
      </div>
      <div className={styles['actions']}>
        {screen !== undefined && (
          <LinkButton {...screen.link} size="small">
            {texts.attention.open[screen.kind]}
          </LinkButton>
        )}
        {entry.runbook_url !== null && (
          <AnchorButton
            href={entry.runbook_url}
            target="_blank"
            size="small"
            label={texts.attention.runbookFor(title)}
            icon={<BookOpen aria-hidden />}
          >
            {texts.attention.runbook}
          </AnchorButton>
        )}
      </div>
    </li>
  )
}

export const AttentionCard = ({ attention, at }: { attention: Attention[]; at: number }) => {
  const texts = useTexts(overviewTexts)
  const [isWhole, setWhole] = useState(false)
  const urgent = attention.filter((entry) => severityOf(entry) !== 'notice').length
  const shown = isWhole ? attention : attention.slice(0, shownMax)
  return (
    <Card
      title={
        <span className="row">
          {texts.attention.title}
          {attention.length > 0 && <Tag color={urgent > 0 ? 'red' : 'grey'}>{attention.length}</Tag>}
        </span>
      }
      actions={
        <span className="muted small-text">
          {texts.checked} <Time at={at} />
        </span>
      }
      isFlush
    >
      {attention.length === 0 ? (
        <div className={styles['none']}>
          <CircleCheck aria-hidden />
          <p className="medium">{texts.attention.none}</p>
          <p className="muted small-text">{texts.attention.noneDetail}</p>
        </div>
      ) : (
        <ul>
          {shown.map((entry) => (
            <Entry key={`${entry.code} ${entry.subject?.id ?? ''}`} entry={entry} />
          ))}
        </ul>
      )}
      {attention.length > shown.length && (
        <div className={styles['more']}>
          <Button variant="ghost" size="small" onPress={() => setWhole(true)}>
            {texts.attention.more(attention.length - shown.length)}
          </Button>
        </div>
      )}
    </Card>
  )
}
