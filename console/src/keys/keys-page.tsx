/** `/keys`: the keys of the account, or of all accounts and of operators. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Plus } from 'lucide-react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { hasRole, hasScope, useSession } from '../session/session.ts'
import { Balance } from '../shell/balance.tsx'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { Segmented } from '../ui/choice.tsx'
import { EmptyState, ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { findManager, keysKey, listKeys } from './key-access.ts'
import { useKeyDialogs } from './key-actions.tsx'
import { KeyFilters } from './key-filters.tsx'
import { KeyList } from './key-list.tsx'
import { KeyPage } from './key-page.tsx'
import { isInFilter, isMatch, keyFilters, type KeyFilter } from './key-state.ts'
import { keyTexts } from './texts.ts'

const refetchMs = 15_000

const isFilter = (value: string | undefined): value is KeyFilter => keyFilters.includes(value as KeyFilter)

export const KeysPage = () => {
  const { id, all } = useSearch({ from: '/shell/keys' })
  return id === undefined ? <KeysList /> : <KeyPage key={id} id={id} wantsAll={all === '1'} />
}

const KeysList = () => {
  const texts = useTexts(keyTexts)
  const common = useTexts(commonTexts)
  const session = useSession()
  const navigate = useNavigate({ from: '/keys' })
  const search = useSearch({ from: '/shell/keys' })
  // A link with an account is one for operators.
  const wantsAll = search.all === '1' || search.account !== undefined
  const manager = findManager(session, wantsAll)
  const isBoth = hasScope(session, 'account') && hasRole(session, 'read', 'support', 'finance')
  const { account, q: words = '' } = search
  const filter = isFilter(search.state) ? search.state : 'all'
  const list = useInfiniteQuery({
    queryKey: [...keysKey, 'list', manager.isOperator, account],
    queryFn: ({ pageParam }) => listKeys(manager, account, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: refetchMs,
  })
  const keys = list.data?.pages.flatMap((page) => page.keys) ?? []
  const shown = keys.filter((key) => isInFilter(key, filter) && isMatch(key, words))

  const change = (changes: Partial<Record<keyof typeof search, string | undefined>>, replace = true) => {
    const merged = Object.fromEntries(
      Object.entries({ ...search, ...changes }).filter(([, value]) => value !== undefined && value !== ''),
    )
    void navigate({ search: merged, replace, resetScroll: false })
  }
  const { start, dialogs } = useKeyDialogs({
    manager,
    isCreating: search.new !== undefined && manager.mayChange,
    accountId: account ?? (isBoth ? session.account?.id : undefined),
    onCreateEnd: () => change({ new: undefined }),
  })
  const create = manager.mayChange && (
    <Button variant="primary" icon={<Plus aria-hidden />} onPress={() => change({ new: '1' }, false)}>
      {texts.create}
    </Button>
  )

  const content = () => {
    if (list.isError && list.data === undefined)
      return <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
    if (list.data === undefined) return <Skeleton height={420} />
    if (keys.length === 0)
      return (
        <EmptyState title={texts.empty.title} actions={create}>
          {texts.empty.detail}
        </EmptyState>
      )
    if (shown.length === 0)
      return (
        <EmptyState
          title={texts.noMatch.title}
          actions={
            <Button onPress={() => change({ q: undefined, state: undefined })}>{texts.noMatch.action}</Button>
          }
        />
      )
    return <KeyList keys={shown} manager={manager} onAction={start} />
  }

  return (
    <Page
      title={common.pages.keys}
      actions={
        <>
          {hasScope(session, 'account') && !manager.isOperator && <Balance />}
          {create}
        </>
      }
    >
      {isBoth && (
        <div>
          <Segmented
            label={texts.whose.label}
            options={[
              { value: 'own', label: texts.whose.own },
              { value: 'all', label: texts.whose.all },
            ]}
            value={manager.isOperator ? 'all' : 'own'}
            onChange={(whose) => change({ all: whose === 'all' ? '1' : undefined, account: undefined })}
          />
        </div>
      )}
      {(keys.length > 0 || account !== undefined) && (
        <KeyFilters
          keys={keys}
          manager={manager}
          words={words}
          filter={filter}
          accountId={account}
          onWords={(text) => change({ q: text })}
          onFilter={(chosen) => change({ state: chosen === 'all' ? undefined : chosen })}
          onAccount={(chosen) => change({ account: chosen, all: isBoth ? '1' : undefined })}
        />
      )}
      {content()}
      {list.data !== undefined && keys.length > 0 && (
        <div className="row">
          <span className="muted small-text">{texts.end(shown.length)}</span>
          {list.hasNextPage && (
            <Button size="small" isBusy={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
              {common.loadMore}
            </Button>
          )}
        </div>
      )}
      {dialogs}
    </Page>
  )
}
