/** The providers, their health, and how to add, test, repair and remove them. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { FlaskConical, Plus } from 'lucide-react'
import { useState } from 'react'

import { HealthLegend } from '../health/health-strip.tsx'
import { formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { kinoraAdmin } from '../service.ts'
import { hasRole, useSession } from '../session/session.ts'
import { Page } from '../shell/page.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState, ErrorPanel, Note, Skeleton } from '../ui/feedback.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { ProviderCard } from './provider-card.tsx'
import {
  changeProvider,
  findOnlyModels,
  overviewQuery,
  protocolsQuery,
  providersQuery,
  refreshProviders,
  viewProviders,
} from './provider-data.ts'
import { ProviderSheet } from './provider-sheet.tsx'
import { providerTexts } from './texts.ts'
import { useProviderTests } from './use-provider-tests.ts'

import styles from './providers-page.module.css'

type Question = { ask: 'disable' | 'delete'; name: string }

export const ProvidersPage = () => {
  const texts = useTexts(providerTexts)
  const mayChange = hasRole(useSession(), 'admin')
  const search = useSearch({ from: '/shell/providers' })
  const navigate = useNavigate()
  const tests = useProviderTests()
  const providers = useQuery(providersQuery)
  const overview = useQuery(overviewQuery)
  const protocols = useQuery(protocolsQuery)
  const [question, setQuestion] = useState<Question | null>(null)
  const list = providers.data ?? []
  const asked = list.find(({ name }) => name === question?.name)
  const go = (to: { name?: string; new?: string; edit?: string }) =>
    void navigate({ to: '/providers', search: to, replace: search.new !== undefined })
  const act = useMutation({
    mutationFn: async ({ ask, name }: Question) => {
      if (ask === 'disable') await changeProvider(name, { enabled: false })
      else await kinoraAdmin.providers.delete(name)
    },
    onSuccess: (_, { ask, name }) => {
      setQuestion(null)
      showToast(ask === 'disable' ? texts.toasts.disabled(name) : texts.toasts.deleted(name))
      if (ask === 'delete') tests.forget(name)
    },
    onSettled: refreshProviders,
  })
  const close = () => {
    act.reset()
    setQuestion(null)
  }
  const failed = [providers, protocols].find(({ error }) => error !== null)
  const add = mayChange && (
    <Button variant="primary" icon={<Plus />} onPress={() => go({ new: '1' })}>
      {texts.add}
    </Button>
  )
  const tested = list.filter(({ is_removed: isRemoved }) => !isRemoved).map(({ name }) => name)
  const only = asked === undefined ? [] : findOnlyModels(asked, list)
  return (
    <Page title={texts.title} actions={add}>
      {failed !== undefined && <ErrorPanel error={failed.error} onRetry={() => void failed.refetch()} />}
      {!mayChange && <Note kind="plain">{texts.readOnly}</Note>}
      {providers.isPending && failed === undefined && (
        <div className={styles['grid']}>
          <Skeleton height={240} />
          <Skeleton height={240} />
        </div>
      )}
      {providers.data !== undefined && list.length === 0 && (
        <EmptyState title={texts.empty.title} actions={add}>
          {texts.empty.detail}
        </EmptyState>
      )}
      {list.length > 0 && (
        <>
          <div className={styles['summary']}>
            <p>
              {texts.summary(
                list.length,
                formatNumber(overview.data?.running ?? 0),
                formatNumber(overview.data?.slots ?? 0),
              )}{' '}
              <span className="muted">{texts.routing}</span>
            </p>
            <HealthLegend />
            {mayChange && tested.length > 1 && (
              <Button size="small" icon={<FlaskConical />} onPress={() => void tests.run(...tested)}>
                {texts.testAll}
              </Button>
            )}
          </div>
          <div className={styles['grid']}>
            {viewProviders(list, overview.data).map((view) => {
              const { name, kind } = view.provider
              return (
                <ProviderCard
                  key={name}
                  view={view}
                  protocol={protocols.data?.find((each) => each.kind === kind)}
                  run={tests.runs.get(name)}
                  isMarked={search.name === name}
                  mayChange={mayChange}
                  onTest={() => void tests.run(name)}
                  onEdit={() => go({ edit: name })}
                  onDisable={() => setQuestion({ ask: 'disable', name })}
                  onDelete={() => setQuestion({ ask: 'delete', name })}
                />
              )
            })}
          </div>
        </>
      )}
      {asked !== undefined && question !== null && (
        <Confirm
          isOpen
          question={(question.ask === 'disable' ? texts.confirmDisable : texts.confirmDelete).question(
            asked.name,
          )}
          action={(question.ask === 'disable' ? texts.confirmDisable : texts.confirmDelete).action(
            asked.name,
          )}
          isBusy={act.isPending}
          error={act.error}
          onConfirm={() => act.mutate(question)}
          onClose={close}
        >
          <p>
            {question.ask === 'disable'
              ? texts.confirmDisable.effect(asked.tasks_in_flight)
              : texts.confirmDelete.effect(asked.models.length)}
          </p>
          {only.length > 0 && <Note kind="warning">{texts.confirmDisable.only(only.join(', '))}</Note>}
        </Confirm>
      )}
      {mayChange && providers.data !== undefined && protocols.data !== undefined && (
        <ProviderSheet
          key={search.edit ?? search.new ?? ''}
          isOpen={search.new !== undefined || list.some(({ name }) => name === search.edit)}
          edited={list.find(({ name }) => name === search.edit)}
          names={list.map(({ name }) => name)}
          protocols={protocols.data}
          onClose={(name) => go(name === undefined ? {} : { name })}
        />
      )}
    </Page>
  )
}
