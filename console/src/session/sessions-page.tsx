/** `/sessions`: the browsers that are signed in. */
import type { ConsoleSessionItem } from '@kinora/client'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Skeleton } from '../ui/feedback.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { Tag } from '../ui/status.tsx'
import { Cell, Row, Table } from '../ui/table.tsx'
import { showToast } from '../ui/toast.tsx'
import { Time } from '../ui/values.tsx'
import { describeBrowser } from './describe-browser.ts'
import { signOut } from './session.ts'
import { sessionTexts } from './texts.ts'

import styles from './sessions-page.module.css'

const sessionsKey = ['sessions']
const refetchMs = 30_000

export const SessionsPage = () => {
  const { sessions: texts } = useTexts(sessionTexts)
  const common = useTexts(commonTexts)
  const list = useInfiniteQuery({
    queryKey: sessionsKey,
    queryFn: ({ pageParam }) =>
      kinora.console.sessions.list({ limit: 100, ...(pageParam !== undefined && { cursor: pageParam }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: refetchMs,
  })
  const [asked, setAsked] = useState<ConsoleSessionItem>()
  const sessions = list.data?.pages.flatMap(({ data }) => data) ?? []
  return (
    <Page
      title={common.pages.sessions}
      actions={
        <Button icon={<LogOut aria-hidden />} onPress={() => void signOut()}>
          {common.signOut}
        </Button>
      }
    >
      <p className="muted">{texts.intro}</p>
      {list.data === undefined ? (
        list.isError ? (
          <ErrorPanel error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Skeleton height={320} />
        )
      ) : (
        <SessionList sessions={sessions} onRevoke={setAsked} />
      )}
      {list.hasNextPage && (
        <div>
          <Button size="small" isBusy={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
            {common.loadMore}
          </Button>
        </div>
      )}
      {asked !== undefined && <RevokeConfirm item={asked} onClose={() => setAsked(undefined)} />}
    </Page>
  )
}

const useBrowserName = () => {
  const { sessions: texts } = useTexts(sessionTexts)
  return ({ user_agent: userAgent }: ConsoleSessionItem): string => {
    const found = describeBrowser(userAgent)
    if (found === undefined) return texts.unknown
    return found.system === undefined ? found.browser : texts.on(found.browser, found.system)
  }
}

interface SessionListProps {
  sessions: ConsoleSessionItem[]
  onRevoke: (item: ConsoleSessionItem) => void
}

const SessionList = ({ sessions, onRevoke }: SessionListProps) => {
  const { sessions: texts } = useTexts(sessionTexts)
  const common = useTexts(commonTexts)
  const nameBrowser = useBrowserName()
  return (
    <Table
      label={common.pages.sessions}
      columns={[texts.browser, texts.who, texts.address, texts.began, texts.used, texts.ends, null]}
    >
      {sessions.map((item) => {
        const { id, account, key, operator, address, current } = item
        const browser = nameBrowser(item)
        return (
          <Row key={id}>
            <Cell>
              <span className={styles['two']}>
                <span className="medium" title={item.user_agent ?? undefined}>
                  {browser}
                </span>
                {current && (
                  <span>
                    <Tag color="green">{texts.current}</Tag>
                  </span>
                )}
              </span>
            </Cell>
            <Cell name={texts.who}>
              <span className={styles['two']}>
                {account !== null && <span>{account.name}</span>}
                {key !== null && <span className="muted small-text">{texts.key(key.name, key.hint)}</span>}
                {operator !== null && (
                  <span className="muted small-text">{texts.operator(operator.name)}</span>
                )}
              </span>
            </Cell>
            <Cell name={texts.address}>
              <span className="mono">{address}</span>
            </Cell>
            <Cell name={texts.began}>
              <Time at={item.created_at} />
            </Cell>
            <Cell name={texts.used}>
              <Time at={item.last_used_at} isAge />
            </Cell>
            <Cell name={texts.ends}>
              <Time at={item.expires_at} />
            </Cell>
            <Cell isCorner>
              {!current && (
                <Button
                  size="small"
                  variant="danger"
                  label={texts.revokeNamed(browser, address)}
                  onPress={() => onRevoke(item)}
                >
                  {texts.revoke}
                </Button>
              )}
            </Cell>
          </Row>
        )
      })}
    </Table>
  )
}

const RevokeConfirm = ({ item, onClose }: { item: ConsoleSessionItem; onClose: () => void }) => {
  const { sessions: texts } = useTexts(sessionTexts)
  const nameBrowser = useBrowserName()
  const revoke = useMutation({
    mutationFn: () => kinora.console.sessions.revoke(item.id),
    onSuccess: () => {
      showToast(texts.done)
      onClose()
      void queryClient.invalidateQueries({ queryKey: sessionsKey })
    },
  })
  return (
    <Confirm
      question={texts.question(nameBrowser(item), item.address)}
      action={texts.revoke}
      isOpen
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p className="soft">{texts.detail}</p>
    </Confirm>
  )
}
