/** Signs in with a one-time link, whose token is in the fragment, or with a key. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState, type FormEvent } from 'react'

import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Brand } from '../shell/brand.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { sessionQuery } from './session.ts'
import { sessionTexts } from './texts.ts'

import styles from './sign-in-page.module.css'

/** Read once, and taken out of the address, so that it does not stay in the history. */
const takeLinkToken = (): string | undefined => {
  const token = new URLSearchParams(location.hash.slice(1)).get('link') ?? undefined
  if (token !== undefined) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}

export const SignInPage = () => {
  const { next } = useSearch({ from: '/sign-in' })
  const texts = useTexts(sessionTexts)
  const navigate = useNavigate()
  const [token] = useState(takeLinkToken)
  const [key, setKey] = useState('')
  const { data: current, isPending: isChecking } = useQuery(sessionQuery)
  const signIn = useMutation({
    mutationFn: (body: { link: string } | { keys: string[] }) => kinora.console.sessions.create(body),
    onSuccess: async (session) => {
      queryClient.clear()
      queryClient.setQueryData(sessionQuery.queryKey, session)
      await navigate({ href: next ?? '/' })
    },
  })
  const { mutate } = signIn
  // Links are used once, also when React runs the effect twice.
  const isLinkUsed = useRef(false)
  useEffect(() => {
    if (token === undefined || isChecking || (current ?? null) !== null || isLinkUsed.current) return
    isLinkUsed.current = true
    mutate({ link: token })
  }, [token, isChecking, current, mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutate({ keys: [key.trim()] })
  }
  const other = token === undefined || !signIn.isIdle ? null : (current ?? null)
  const isLinkPending = token !== undefined && other === null && !signIn.isError
  return (
    <main className={styles['page']}>
      <div className={styles['card']}>
        <div className="row">
          <Brand size={28} />
          <h1 className="title">{texts.title}</h1>
        </div>
        {other !== null && token !== undefined && (
          <Note kind="warning">
            <p>{texts.replace(other.account?.name ?? other.operator?.name ?? '')}</p>
            <div className="row wrap">
              <Button size="small" variant="primary" onPress={() => mutate({ link: token })}>
                {texts.replaceAction}
              </Button>
              <Button size="small" onPress={() => void navigate({ href: next ?? '/' })}>
                {texts.keep}
              </Button>
            </div>
          </Note>
        )}
        {isLinkPending && <p role="status">{texts.withLink}</p>}
        {!isLinkPending && other === null && (
          <form className="stack" onSubmit={submit}>
            {signIn.isError && <ErrorPanel error={signIn.error} />}
            {signIn.isError && token !== undefined && (
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
