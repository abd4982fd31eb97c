/** One provider: how it is, what is wrong with it, and what can be done. */
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { FlaskConical, HeartPulse, Pencil, Power, Trash2 } from 'lucide-react'
import { useEffect, useRef } from 'react'

import { HealthStrip } from '../health/health-strip.tsx'
import { useTexts } from '../i18n/texts.ts'
import { overviewTexts } from '../overview/texts.ts'
import { Prose } from '../schema-form/prose.tsx'
import { kinoraAdmin } from '../service.ts'
import { ActionMenu, type MenuAction } from '../ui/action-menu.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { Tag } from '../ui/status.tsx'
import { showToast } from '../ui/toast.tsx'
import {
  changeProvider,
  getState,
  refreshProviders,
  type Protocol,
  type ProviderState,
  type ProviderView,
} from './provider-data.ts'
import { ProviderFacts } from './provider-facts.tsx'
import { KeyRepair, TestSteps, type TestRun } from './test-panel.tsx'
import { providerTexts } from './texts.ts'

import styles from './provider-card.module.css'

const colors: Record<ProviderState, 'green' | 'amber' | 'red' | 'grey'> = {
  ...{ removed: 'grey', draining: 'grey', disabled: 'grey', idle: 'grey', healthy: 'green' },
  ...{ budget: 'amber', halfOpen: 'amber', slow: 'amber' },
  ...{ unusable: 'red', wrongKey: 'red', unreachable: 'red', open: 'red', failing: 'red' },
}

const StateBadge = ({ state }: { state: ProviderState }) => {
  const { states } = useTexts(providerTexts)
  return (
    <span className={styles['state']} data-color={colors[state]}>
      <i aria-hidden />
      {states[state]}
    </span>
  )
}

/** How many models are named. */
const shownModels = 3

const ServedModels = ({ view: { provider } }: { view: ProviderView }) => {
  const texts = useTexts(providerTexts)
  const names = provider.models.map(({ model }) => model)
  if (names.length === 0) return <span className="muted">{texts.servesNothing}</span>
  return (
    <span className="muted">
      {texts.serves(names.length)}:{' '}
      {names.slice(0, shownModels).map((model, index) => (
        <span key={model}>
          {index > 0 && ', '}
          <Link to="/models" search={{ id: model }} className="link">
            {model}
          </Link>
        </span>
      ))}
      {names.length > shownModels && ` ${texts.more(names.length - shownModels)}`}
    </span>
  )
}

interface ProviderCardProps {
  view: ProviderView
  protocol: Protocol | undefined
  run: TestRun | undefined
  isMarked: boolean
  mayChange: boolean
  onTest: () => void
  onEdit: () => void
  onDisable: () => void
  onDelete: () => void
}

const Problems = ({ view }: { view: ProviderView }) => {
  const { provider, attention } = view
  const { attentionTexts } = useTexts(overviewTexts)
  const isKnown = attention.some(({ text }) => provider.problem !== null && text.includes(provider.problem))
  return (
    <>
      {provider.problem !== null && !isKnown && (
        <Note kind="danger">
          <Prose text={provider.problem} />
        </Note>
      )}
      {attention.map(({ code, severity, count, ...entry }) => {
        const { title, text } = attentionTexts[code]?.(provider.name, count) ?? entry
        return (
          <Note key={code} kind={severity === 'page' ? 'danger' : 'warning'}>
            <p className="medium">{title}</p>
            <p>
              <Prose text={text} />
            </p>
          </Note>
        )
      })}
    </>
  )
}

export const ProviderCard = (props: ProviderCardProps) => {
  const { view, protocol, run, isMarked, mayChange, onTest, onEdit, onDisable, onDelete } = props
  const texts = useTexts(providerTexts)
  const { provider, overview } = view
  const { name } = provider
  const known = getState(view)
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isMarked) place.current?.scrollIntoView({ block: 'nearest' })
  }, [isMarked])
  const enable = useMutation({
    mutationFn: () => changeProvider(name, { enabled: true }),
    onSuccess: () => showToast(texts.toasts.enabled(name)),
    onSettled: refreshProviders,
  })
  const reset = useMutation({
    mutationFn: () => kinoraAdmin.providers.resetHealth(name),
    onSuccess: () => showToast(texts.toasts.reset(name)),
    onSettled: refreshProviders,
  })
  const saveKey = useMutation({
    mutationFn: (key: string) => changeProvider(name, { api_key: key }),
    onSuccess: onTest,
  })
  const hasRefusedKey =
    known === 'wrongKey' ||
    run?.test?.steps.some((step) => step.name === 'key' && step.result === 'failed') === true
  const hasOtherFailure = run?.test?.ok === false && !hasRefusedKey
  // A test knows it before the first job has failed.
  const isSilent = provider.enabled && provider.problem === null
  const state = isSilent && hasRefusedKey ? 'wrongKey' : isSilent && hasOtherFailure ? 'unreachable' : known
  const { actions } = texts
  const menu: MenuAction[] = [
    { id: 'edit', label: actions.edit, icon: <Pencil />, onAction: onEdit },
    provider.enabled
      ? { id: 'disable', label: actions.disable, icon: <Power />, onAction: onDisable }
      : { id: 'enable', label: actions.enable, icon: <Power />, onAction: () => enable.mutate() },
    { id: 'reset', label: actions.resetHealth, icon: <HeartPulse />, onAction: () => reset.mutate() },
    ...(provider.source === 'record'
      ? [{ id: 'delete', label: actions.delete, icon: <Trash2 />, isDangerous: true, onAction: onDelete }]
      : []),
  ]
  const error = enable.error ?? reset.error
  const canChange = mayChange && !provider.is_removed
  return (
    <article ref={place} className={styles['card']} aria-label={name} data-marked={isMarked || undefined}>
      <header className={styles['header']}>
        <StateBadge state={state} />
        <h2 className="ellipsis" title={name}>
          {name}
        </h2>
        <Tag>{provider.kind === 'local' ? (protocol?.title ?? provider.kind) : provider.kind}</Tag>
        {canChange && (
          <div className={styles['actions']}>
            <Button icon={<FlaskConical />} onPress={onTest} isBusy={run?.isRunning === true}>
              {run === undefined ? actions.test : actions.testAgain}
            </Button>
            <ActionMenu label={actions.menu(name)} actions={menu} />
          </div>
        )}
      </header>
      <div className={styles['inside']}>
        {overview !== undefined && <HealthStrip name={name} minutes={overview.minutes} />}
        <ProviderFacts view={view} />
        <Problems view={view} />
        {error !== null && <ErrorPanel error={error} />}
      </div>
      {(run !== undefined || (canChange && hasRefusedKey)) && (
        <div className={styles['test']}>
          {run !== undefined && <TestSteps name={name} run={run} />}
          {canChange && hasRefusedKey && run?.isRunning !== true && (
            <KeyRepair
              name={name}
              isBusy={saveKey.isPending}
              error={saveKey.error}
              onSave={(key) => saveKey.mutate(key)}
            />
          )}
          {canChange && hasOtherFailure && (
            <div>
              <Button size="small" icon={<Pencil />} onPress={onEdit}>
                {texts.repair.edit}
              </Button>
            </div>
          )}
        </div>
      )}
      <footer className={styles['footer']}>
        <ServedModels view={view} />
        <span className="muted nowrap">
          {provider.source === 'file'
            ? texts.ofFile
            : provider.credential_hint === null
              ? texts.noKey
              : texts.key(provider.credential_hint)}
        </span>
      </footer>
    </article>
  )
}
