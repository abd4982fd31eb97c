/** The list of requests, with what is shown instead of it. */
import { ArrowDown } from 'lucide-react'
import { useEffect, useEffectEvent, useState, type RefObject } from 'react'

import { commonTexts } from '../../i18n/common.ts'
import { formatNumber } from '../../i18n/format.ts'
import { useTexts } from '../../i18n/texts.ts'
import { ErrorPanel, Skeleton } from '../../ui/feedback.tsx'
import { filterNames, hasAllPaths, type FilterName, type RequestSearch } from '../filters.ts'
import { NoMatch } from '../no-match.tsx'
import { requestTexts } from '../texts.ts'
import { useRequestRows } from '../use-request-rows.ts'
import { RequestList } from './request-list.tsx'

import styles from './requests-view.module.css'

interface RequestsViewProps {
  search: RequestSearch
  onChange: (changes: { [Name in FilterName]?: undefined } & { paths?: string }) => void
  searchField: RefObject<HTMLInputElement | null>
}

/** In a field, a choice or a dialog, keys have their own meaning. */
const isElsewhere = ({ target, defaultPrevented, metaKey, ctrlKey, altKey }: KeyboardEvent) =>
  [defaultPrevented, metaKey, ctrlKey, altKey].includes(true) ||
  !(target instanceof HTMLElement) ||
  target.closest('input, textarea, [role=dialog], [role=listbox], [role=radiogroup]') !== null

const useKeys = (actions: Record<string, () => void>) => {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const action = actions[event.key]
    if (action === undefined || isElsewhere(event)) return
    event.preventDefault()
    action()
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event)
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

export const RequestsView = ({ search, onChange, searchField }: RequestsViewProps) => {
  const texts = useTexts(requestTexts)
  const common = useTexts(commonTexts)
  const list = useRequestRows(search)
  const { rows, fresh } = list
  const [currentId, setCurrentId] = useState<string>()
  const current = currentId === undefined ? -1 : rows.findIndex(({ id }) => id === currentId)
  const move = (by: number) => setCurrentId(rows[Math.min(rows.length - 1, Math.max(0, current + by))]?.id)
  const showFresh = () => {
    if (fresh.length === 0) return
    scrollTo({ top: 0 })
    list.showFresh()
  }
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    '.': showFresh,
    '/': () => searchField.current?.focus(),
  })
  if (list.error !== null && rows.length === 0) return <ErrorPanel error={list.error} onRetry={list.retry} />
  if (list.isLoading) return <Skeleton height={620} />
  const hasFilter = filterNames.some((name) => search[name] !== undefined)
  return (
    <>
      <div className={styles['fresh']} role="status">
        {fresh.length > 0 && (
          <button type="button" onClick={showFresh} aria-keyshortcuts=".">
            <ArrowDown aria-hidden />
            {texts.fresh(fresh.length, list.hasGap)}
            <kbd className="wide-only" aria-hidden>
              .
            </kbd>
          </button>
        )}
      </div>
      {rows.length === 0 ? (
        <NoMatch
          title={hasFilter ? texts.noMatch.title : texts.empty.title}
          detail={texts.empty.detail}
          search={search}
          names={filterNames}
          onChange={onChange}
          hidesPaths={!hasAllPaths(search)}
        />
      ) : (
        <RequestList
          rows={rows}
          search={search}
          current={current}
          onCurrent={setCurrentId}
          onEnd={list.loadMore}
        />
      )}
      {list.error !== null && <ErrorPanel error={list.error} onRetry={list.loadMore} />}
      {rows.length > 0 && (
        <p className={styles['end']} role="status">
          {list.isLoadingMore ? common.loading : list.hasMore ? '' : texts.end(formatNumber(rows.length))}
        </p>
      )}
    </>
  )
}
