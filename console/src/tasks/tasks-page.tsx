/** `/tasks`: the tasks of the account, or of all accounts, as a list or as a gallery. */
import { useNavigate, useSearch } from '@tanstack/react-router'
import { LayoutGrid, List, Plus } from 'lucide-react'
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { useConnection } from '../live/feed.ts'
import { hasRole, hasScope, useSession } from '../session/session.ts'
import { Balance } from '../shell/balance.tsx'
import { Page } from '../shell/page.tsx'
import { LinkButton } from '../ui/button.tsx'
import { Segmented } from '../ui/choice.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { showToast } from '../ui/toast.tsx'
import { BulkBar } from './bulk/bulk-bar.tsx'
import { useSelection } from './bulk/selection.ts'
import { FirstTask, NoMatch } from './empty-tasks.tsx'
import { FilterBar, useKeyNames } from './filter-bar.tsx'
import { findActiveFilters, type FilterName, type TaskSearch } from './filters.ts'
import { FreshBar } from './fresh-bar.tsx'
import { useTaskRows } from './rows/use-task-rows.ts'
import { taskTexts } from './texts.ts'
import { useTaskKeys } from './use-task-keys.ts'
import { TaskGallery } from './views/task-gallery.tsx'
import { TaskList } from './views/task-list.tsx'
import { useNow } from './views/use-screen.ts'

import styles from './tasks-page.module.css'

const ageMs = 15_000

export const TasksPage = () => {
  const texts = useTexts(taskTexts)
  const common = useTexts(commonTexts)
  const session = useSession()
  const navigate = useNavigate({ from: '/tasks' })
  const search: TaskSearch = useSearch({ from: '/shell/tasks' })
  const { state } = useConnection()
  const isLost = state === 'lost'

  const isCustomer = hasScope(session, 'read')
  const isOperator = hasRole(session, 'read', 'support', 'finance')
  const isOperatorView = isOperator && (!isCustomer || search.all === '1')
  const scope = useMemo(
    () => ({ isOperatorView, ownAccountId: isCustomer ? session.account?.id : undefined }),
    [isOperatorView, isCustomer, session.account?.id],
  )
  const isGallery = search.view === 'gallery'

  const list = useTaskRows(scope, search)
  const { rows, fresh } = list
  const selection = useSelection(rows)
  const selected = rows.filter(({ id }) => selection.ids.has(id))
  const [currentId, setCurrentId] = useState<string>()
  const current = currentId === undefined ? -1 : rows.findIndex(({ id }) => id === currentId)
  const [columns, setColumns] = useState(1)
  const keyNames = useKeyNames()
  const now = useNow(ageMs)
  const searchField = useRef<HTMLInputElement>(null)

  const change = (changes: Partial<Record<keyof TaskSearch, string | undefined>>) => {
    const merged: TaskSearch = Object.fromEntries(
      Object.entries({ ...search, ...changes }).filter(([, value]) => value !== undefined),
    )
    void navigate({ search: merged, replace: true, resetScroll: false })
  }
  const showFresh = () => {
    if (fresh.length === 0) return
    scrollTo({ top: 0 })
    list.showFresh()
  }
  const toggleView = (view: string) => change({ view: view === 'gallery' ? view : undefined })
  const move = (by: number) => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, current + by))]
    setCurrentId(next?.id)
  }
  useTaskKeys({
    move,
    moveLine: (by) => move(isGallery ? by * columns : by),
    select: (isRange) => selection.toggle(current, isRange),
    copyId: () => {
      if (currentId === undefined) return
      void navigator.clipboard.writeText(currentId).then(() => showToast(texts.confirm.copied))
    },
    showFresh,
    toggleView: () => toggleView(isGallery ? 'list' : 'gallery'),
    search: () => searchField.current?.focus(),
    clear: selection.clear,
  })

  const onSelect = useStable((index: number, isRange: boolean) => selection.toggle(index, isRange))
  const onCurrent = useStable((index: number) => setCurrentId(rows[index]?.id))
  const onEnd = useStable(list.loadMore)
  const view = {
    ...{ rows, current, onSelect, onCurrent, onEnd, isOperatorView, isLost, keyNames, now },
    selected: selection.ids,
    onSelectAll: selection.toggleAll,
  }
  const active = findActiveFilters(search, isOperatorView)
  const remove = (names: readonly FilterName[]) =>
    change(Object.fromEntries(names.map((name) => [name, undefined])))

  const content = () => {
    if (list.error !== null && rows.length === 0)
      return <ErrorPanel error={list.error} onRetry={list.retry} />
    if (list.isLoading) return <Skeleton height={620} />
    if (rows.length === 0)
      return active.length === 0 ? (
        <FirstTask isOperatorView={isOperatorView} />
      ) : (
        <NoMatch search={search} active={active} onRemove={remove} />
      )
    return (
      <>
        <FreshBar count={fresh.length} hasGap={list.hasGap} onShow={showFresh} />
        {isGallery ? <TaskGallery {...view} onColumns={setColumns} /> : <TaskList {...view} />}
        {list.error !== null && list.pauseSeconds === undefined && (
          <ErrorPanel error={list.error} onRetry={list.loadMore} />
        )}
        <p className={styles['end']} role="status">
          {list.pauseSeconds !== undefined
            ? texts.pause(Math.ceil(list.pauseSeconds))
            : list.isLoadingMore
              ? common.loading
              : list.hasMore
                ? ''
                : texts.end(rows.length)}
        </p>
      </>
    )
  }

  const choices = (
    <>
      <ViewChoice isGallery={isGallery} onChange={toggleView} />
      {isCustomer && isOperator && (
        <Segmented
          label={texts.whose.label}
          options={[
            { value: 'own', label: texts.whose.own },
            { value: 'all', label: texts.whose.all },
          ]}
          value={isOperatorView ? 'all' : 'own'}
          onChange={(whose) => {
            selection.clear()
            change({ all: whose === 'all' ? '1' : undefined })
          }}
        />
      )}
    </>
  )

  return (
    <Page
      title={common.pages.tasks}
      heading={
        <div className="row">
          <h1>{common.pages.tasks}</h1>
          <span className={styles['choices']}>{choices}</span>
        </div>
      }
      actions={
        <>
          {isCustomer && <Balance />}
          {hasScope(session, 'create') && isCustomer && (
            <LinkButton to="/playground/video" variant="primary" icon={<Plus aria-hidden />}>
              {texts.create}
            </LinkButton>
          )}
        </>
      }
    >
      <div className={styles['tasks']} data-lost={isLost || undefined}>
        <div className={styles['controls']}>{choices}</div>
        {(rows.length > 0 || active.length > 0 || list.isLoading) && (
          <FilterBar
            search={search}
            onChange={(name, value) => change({ [name]: value })}
            rows={rows}
            isOperatorView={isOperatorView}
            searchField={searchField}
          />
        )}
        {content()}
      </div>
      <BulkBar
        rows={selected}
        isOperatorView={isOperatorView}
        isLost={isLost}
        onClear={selection.clear}
        onDone={(action, done) => {
          const ids = new Set(done.map(({ id }) => id))
          selection.remove(ids)
          if (action === 'remove') list.remove(ids)
          list.refresh()
        }}
      />
    </Page>
  )
}

const ViewChoice = ({ isGallery, onChange }: { isGallery: boolean; onChange: (view: string) => void }) => {
  const texts = useTexts(taskTexts)
  return (
    <Segmented
      label={texts.view.label}
      options={[
        {
          value: 'list',
          label: (
            <>
              <List aria-hidden />
              {texts.view.list}
            </>
          ),
        },
        {
          value: 'gallery',
          label: (
            <>
              <LayoutGrid aria-hidden />
              {texts.view.gallery}
            </>
          ),
        },
      ]}
      value={isGallery ? 'gallery' : 'list'}
      onChange={onChange}
    />
  )
}

/** A callback that stays the same, so that rows are not rendered again. */
const useStable = <Values extends unknown[]>(callback: (...values: Values) => void) => {
  const latest = useRef(callback)
  useLayoutEffect(() => {
    latest.current = callback
  })
  return useCallback((...values: Values) => latest.current(...values), [])
}
