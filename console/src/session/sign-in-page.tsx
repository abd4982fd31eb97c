/** Signs in with a one-time link, whose token is in the fragment, or with a key. */
import type { ConsoleLinkHolder } from '@kinora/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState, type FormEvent } from 'react'

import { locale } from '../i18n/language.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Brand } from '../shell/brand.tsx'
import { Button } from '../ui/button.tsx'
import { Facts } from '../ui/card.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { sessionQuery, type Session } from './session.ts'
import { sessionTexts } from './texts.ts'

import styles from './sign-in-page.module.css'

const readLinkToken = () => new URLSearchParams(location.hash.slice(1)).get('link') ?? undefined

/**
 * Taken out of the address, so that it does not stay in the history. The router renders anew when the address changes, so
 * this happens before the page is rendered.
 */
let linkToken = readLinkToken()
if (linkToken !== undefined) history.replaceState(history.state, '', location.pathname + location.search)
// A link that is pasted into the address of this page. The module stays loaded on other pages.
addEventListener('hashchange', () => {
  if (location.pathname.endsWith('/sign-in') && readLinkToken() !== undefined) location.reload()
})

/** The page of a service on the browser's own machine, as `kinora dev` opens it. */
const isOnOwnMachine = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)

/** The names of the customer's account and of the operator. */
const nameOf = ({ account, operator }: Pick<ConsoleLinkHolder, 'account' | 'operator'>): string =>
  new Intl.ListFormat(locale).format([account, operator].flatMap((each) => each?.name ?? []))

export const SignInPage = () => {
  const { next } = useSearch({ from: '/sign-in' })
  const texts = useTexts(sessionTexts)
  const navigate = useNavigate()
  const [token, setToken] = useState(linkToken)
  const [key, setKey] = useState('')
  const { data: current, isPending: isChecking } = useQuery(sessionQuery)
  const signIn = useMutation({
    mutationFn: (body: { link: string } | { keys: string[] }) => kinora.console.sessions.create(body),
    onSuccess: async (session) => {
      linkToken = undefined
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      await navigate({ href: next ?? '/' })
    },
  })
  const link = useQuery({
    queryKey: ['sign-in-link'],
    queryFn: () => kinora.console.links.check({ link: token ?? '' }),
    // Signing in uses the link up, and empties the cache.
    enabled: token !== undefined && signIn.isIdle,
    staleTime: Infinity,
    gcTime: 0,
  })
  const { mutate } = signIn
  const holder = link.data
  // Anybody with a key can send a link that signs in to an account of theirs, so the page asks. Only on the browser's own
  // machine does a link of an administrator sign in without a question, and only if the browser has no session.
  const isUsedAtOnce = isOnOwnMachine && holder?.operator?.role === 'admin' && current === null
  // Links are used once, also when React runs the effect twice.
  const isLinkUsed = useRef(false)
  useEffect(() => {
    if (token === undefined || !isUsedAtOnce || isLinkUsed.current) return
    isLinkUsed.current = true
    mutate({ link: token })
  }, [token, isUsedAtOnce, mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    linkToken = undefined
    setToken(undefined)
    mutate({ keys: [key.trim()] })
  }
  const error = signIn.error ?? (token === undefined ? null : link.error)
  const isForm = token === undefined || error !== null
  const isAsking = !isForm && signIn.isIdle && holder !== undefined && !isChecking && !isUsedAtOnce
  return (
    <main className={styles['page']}>
      <div className={styles['card']}>
        <div className="row">
          <Brand size={28} />
          <h1 className="title">{texts.title}</h1>
        </div>
        {!isForm && !isAsking && <p role="status">{signIn.isIdle ? texts.readingLink : texts.signingIn}</p>}
        {isAsking && (
          <LinkQuestion
            holder={holder}
            current={current ?? null}
            onSignIn={() => mutate({ link: token })}
            onRefuse={() => {
              linkToken = undefined
              if ((current ?? null) === null) setToken(undefined)
              else void navigate({ href: next ?? '/' })
            }}
          />
        )}
        {isForm && (
          <form className="stack" onSubmit={submit}>
            {error !== null && <ErrorPanel error={error} />}
            {error !== null && token !== undefined && (
              <p className="muted">{`${texts.linkFailed} ${texts.newLink}`}</p>
            )}
            <p className="muted">{texts.intro}</p>
            <TextField
              {...{ label: texts.key, help: texts.keyHelp, value: key, onChange: setKey, type: 'password' }}
              {...{ autoComplete: 'off', autoFocus: true, isMono: true }}
            />
            <Button
              type="submit"
              variant="primary"
              size="large"
              isDisabled={key.trim() === ''}
              isBusy={signIn.isPending}
            >
              {texts.submit}
            </Button>
          </form>
        )}
      </div>
    </main>
  )
}

interface LinkQuestionProps {
  holder: ConsoleLinkHolder
  current: Session | null
  onSignIn: () => void
  onRefuse: () => void
}

const LinkQuestion = ({ holder, current, onSignIn, onRefuse }: LinkQuestionProps) => {
  const texts = useTexts(sessionTexts)
  const { account, key, operator } = holder
  return (
    <div className="stack">
      {current !== null && <Note kind="warning">{texts.replace(nameOf(current))}</Note>}
      <p>{texts.linkOf}</p>
      <Facts
        rows={[
          account === null ? undefined : [texts.account, account.name],
          key === null ? undefined : [texts.key, `${key.name} ${key.hint}`],
          operator === null ? undefined : [texts.operator, operator.name],
          operator === null ? undefined : [texts.role, texts.roles[operator.role]],
        ]}
      />
      <p className="muted">{texts.linkWarning}</p>
      <Button variant="primary" size="large" onPress={onSignIn}>
        {texts.continueAs(nameOf(holder))}
      </Button>
      <Button size="large" onPress={onRefuse}>
        {current === null ? texts.refuse : texts.keep(nameOf(current))}
      </Button>
    </div>
  )
}
