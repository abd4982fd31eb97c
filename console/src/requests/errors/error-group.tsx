import type { RequestErrorGroup } from '@kinora/client/admin'
import { BookOpen, List } from 'lucide-react'

import { formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { AnchorButton, LinkButton } from '../../ui/button.tsx'
import { CountBars } from '../../ui/sparkline.tsx'
import { Tag } from '../../ui/status.tsx'
import { Time } from '../../ui/values.tsx'
import type { RequestSearch } from '../filters.ts'
import { MarkedText } from '../marked-text.tsx'
import { StatusTag } from '../status-tag.tsx'
import { requestTexts } from '../texts.ts'

import styles from './error-group.module.css'

const faults = ['caller', 'service', 'provider'] as const

export const ErrorGroup = ({ group, search }: { group: RequestErrorGroup; search: RequestSearch }) => {
  const texts = useTexts(requestTexts).errors
  const { error_code: code, operation, model, provider, count, accounts, keys, anonymous } = group
  const fault = faults.find((each) => each === group.fault) ?? 'service'
  const inHours = group.hours.reduce((sum, each) => sum + each, 0)
  const requests: RequestSearch = {
    ...search,
    ...{ code, operation },
    ...(model !== null && { model }),
    ...(provider !== null && { provider }),
  }
  return (
    <li className={styles['group']}>
      <div className={styles['name']}>
        <p className="row wrap">
          <b className="mono">{code}</b>
          <StatusTag status={group.status} />
          <span title={texts.faultHelp}>
            <Tag color={fault === 'caller' ? 'grey' : 'red'}>{texts.faults[fault]}</Tag>
          </span>
        </p>
        <p className="muted small-text">
          {[operation, model, provider].filter((each) => each !== null).join(' · ')}
        </p>
      </div>
      <div className={styles['picture']}>
        <CountBars
          values={group.hours}
          label={texts.sparkline(formatNumber(inHours))}
          color={fault === 'caller' ? 'grey' : 'red'}
        />
      </div>
      <div className={styles['count']}>
        <p className="strong">{texts.count(count, formatNumber(count))}</p>
        <p className="muted small-text">
          {texts.affected(accounts, keys)}
          {anonymous > 0 && `, ${texts.anonymous(formatNumber(anonymous))}`}
        </p>
      </div>
      <dl className={styles['seen']}>
        <dt>{texts.first}</dt>
        <dd>
          <Time at={group.first_seen} />
        </dd>
        <dt>{texts.last}</dt>
        <dd>
          <Time at={group.last_seen} />
        </dd>
      </dl>
      <p className={styles['advice']}>
        <MarkedText text={group.cause} />{' '}
        <span className="muted">
          <MarkedText text={group.what_to_do} />
        </span>
      </p>
      <div className={styles['actions']}>
        <LinkButton
          to="/requests"
          search={requests}
          size="small"
          icon={<List aria-hidden />}
          aria-label={texts.requestsOf(code, operation)}
        >
          {texts.requests}
        </LinkButton>
        <LinkButton
          to="/requests"
          search={{ ...search, view: 'errors', id: group.example_request_id }}
          resetScroll={false}
          size="small"
          aria-label={texts.newestOf(code, operation)}
        >
          {texts.newest}
        </LinkButton>
        <AnchorButton
          href={group.doc_url}
          target="_blank"
          size="small"
          variant="ghost"
          isIcon
          icon={<BookOpen aria-hidden />}
          label={texts.docsOf(code)}
        />
      </div>
    </li>
  )
}
