# Copyright: (c) The kubephase authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fields of KubeletConfiguration and KubeProxyConfiguration by release; made by tests/tools/component_fields."""

from __future__ import annotations

from collections.abc import Mapping

# A line is "path: type", then "@first-last" where not every minor has it so; an end that is left out is the table's.
# What is inside a list or map has [] in its path.
_KUBELET = """
address: string
allowedUnsafeSysctls: list of string
apiVersion: string
authentication: object
authentication.anonymous: object
authentication.anonymous.enabled: bool
authentication.webhook: object
authentication.webhook.cacheTTL: duration
authentication.webhook.enabled: bool
authentication.x509: object
authentication.x509.clientCAFile: string
authorization: object
authorization.mode: string
authorization.webhook: object
authorization.webhook.cacheAuthorizedTTL: duration
authorization.webhook.cacheUnauthorizedTTL: duration
cgroupDriver: string
cgroupRoot: string
cgroupsPerQOS: bool
clusterDNS: list of string
clusterDomain: string
configMapAndSecretChangeDetectionStrategy: string
containerLogMaxFiles: int
containerLogMaxSize: string
containerLogMaxWorkers: int @30-
containerLogMonitorInterval: duration @30-
containerRuntimeEndpoint: string @27-
contentType: string
cpuCFSQuota: bool
cpuCFSQuotaPeriod: duration
cpuManagerPolicy: string
cpuManagerPolicyOptions: map of string
cpuManagerReconcilePeriod: duration
crashLoopBackOff: object @32-
crashLoopBackOff.maxContainerRestartPeriod: duration @32-
defaultPodSysctls: map of string @37-
enableContentionProfiling: bool
enableControllerAttachDetach: bool
enableDebugFlagsHandler: bool
enableDebuggingHandlers: bool
enableProfilingHandler: bool
enableServer: bool
enableSystemLogHandler: bool
enableSystemLogQuery: bool @27-
enforceNodeAllocatable: list of string
eventBurst: int
eventRecordQPS: int
evictionHard: map of string
evictionMaxPodGracePeriod: int
evictionMinimumReclaim: map of string
evictionPressureTransitionPeriod: duration
evictionSoft: map of string
evictionSoftGracePeriod: map of string
failCgroupV1: bool @31-
failSwapOn: bool
featureGates: map of bool
fileCheckFrequency: duration
hairpinMode: string
healthzBindAddress: string
healthzPort: int
httpCheckFrequency: duration
imageGCHighThresholdPercent: int
imageGCLowThresholdPercent: int
imageMaximumGCAge: duration @29-
imageMinimumGCAge: duration
imagePullCredentialsVerificationPolicy: string @33-
imageServiceEndpoint: string @27-
iptablesDropBit: int
iptablesMasqueradeBit: int
kernelMemcgNotification: bool
kind: string
kubeAPIBurst: int
kubeAPIQPS: int
kubeReserved: map of string
kubeReservedCgroup: string
kubeletCgroups: string
localStorageCapacityIsolation: bool @25-
logging: object
logging.flushFrequency: int @23-27
logging.flushFrequency: int or duration @28-
logging.format: string
logging.options: object @23-
logging.options.json: object @23-
logging.options.json.infoBufferSize: quantity @23-
logging.options.json.splitStream: bool @23-
logging.options.text: object @30-
logging.options.text.infoBufferSize: quantity @30-
logging.options.text.splitStream: bool @30-
logging.sanitization: bool @-23
logging.verbosity: int @23-
logging.vmodule: list of object @23-
logging.vmodule[].filePattern: string @23-
logging.vmodule[].verbosity: int @23-
makeIPTablesUtilChains: bool
maxOpenFiles: int
maxParallelImagePulls: int @27-
maxPods: int
memoryManagerPolicy: string
memoryReservationPolicy: string @36-
memorySwap: object
memorySwap.swapBehavior: string
memoryThrottlingFactor: float
mergeDefaultEvictionSettings: bool @33-
nodeLeaseDurationSeconds: int
nodeStatusMaxImages: int
nodeStatusReportFrequency: duration
nodeStatusUpdateFrequency: duration
oomScoreAdj: int
podCIDR: string
podLogsDir: string @30-
podPidsLimit: int
podsPerCore: int
port: int
preloadedImagesVerificationAllowlist: list of string @33-
protectKernelDefaults: bool
providerID: string
qosReserved: map of string
readOnlyPort: int
registerNode: bool @23-
registerWithTaints: list of object @23-
registerWithTaints[].effect: string @23-
registerWithTaints[].key: string @23-
registerWithTaints[].timeAdded: string @23-
registerWithTaints[].value: string @23-
registryBurst: int
registryPullQPS: int
reservedMemory: list of object
reservedMemory[].limits: map of quantity
reservedMemory[].numaNode: int
reservedSystemCPUs: string
resolvConf: string
rotateCertificates: bool
runOnce: bool
runtimeRequestTimeout: duration
seccompDefault: bool
serializeImagePulls: bool
serverTLSBootstrap: bool
showHiddenMetricsForVersion: string
shutdownGracePeriod: duration
shutdownGracePeriodByPodPriority: list of object @23-
shutdownGracePeriodByPodPriority[].priority: int @23-
shutdownGracePeriodByPodPriority[].shutdownGracePeriodSeconds: int @23-
shutdownGracePeriodCriticalPods: duration
singleProcessOOMKill: bool @32-
staticPodPath: string
staticPodURL: string
staticPodURLHeader: map of list of string
streamingConnectionIdleTimeout: duration
syncFrequency: duration
systemCgroups: string
systemReserved: map of string
systemReservedCgroup: string
tlsCertFile: string
tlsCipherSuites: list of string
tlsCurvePreferences: list of int @36-
tlsMinVersion: string
tlsPrivateKeyFile: string
topologyManagerPolicy: string
topologyManagerPolicyOptions: map of string @26-
topologyManagerScope: string
tracing: object @25-
tracing.endpoint: string @25-
tracing.samplingRatePerMillion: int @25-
userNamespaces: object @33-
userNamespaces.idsPerPod: int @33-
volumePluginDir: string
volumeStatsAggPeriod: duration
"""

_KUBE_PROXY = """
apiVersion: string
bindAddress: string
bindAddressHardFail: bool
clientConnection: object
clientConnection.acceptContentTypes: string
clientConnection.burst: int
clientConnection.contentType: string
clientConnection.kubeconfig: string
clientConnection.qps: float
clusterCIDR: string
configSyncPeriod: duration
conntrack: object
conntrack.maxPerCore: int
conntrack.min: int
conntrack.tcpBeLiberal: bool @29-
conntrack.tcpCloseWaitTimeout: duration
conntrack.tcpEstablishedTimeout: duration
conntrack.udpStreamTimeout: duration @29-
conntrack.udpTimeout: duration @29-
detectLocal: object @24-
detectLocal.bridgeInterface: string @24-
detectLocal.interfaceNamePrefix: string @24-
detectLocalMode: string
enableProfiling: bool
featureGates: map of bool
healthzBindAddress: string
hostnameOverride: string
iptables: object
iptables.localhostNodePorts: bool @26-
iptables.masqueradeAll: bool
iptables.masqueradeBit: int
iptables.minSyncPeriod: duration
iptables.syncPeriod: duration
ipvs: object
ipvs.excludeCIDRs: list of string
ipvs.minSyncPeriod: duration
ipvs.scheduler: string
ipvs.strictARP: bool
ipvs.syncPeriod: duration
ipvs.tcpFinTimeout: duration
ipvs.tcpTimeout: duration
ipvs.udpTimeout: duration
kind: string
logging: object @28-
logging.flushFrequency: int or duration @28-
logging.format: string @28-
logging.options: object @28-
logging.options.json: object @28-
logging.options.json.infoBufferSize: quantity @28-
logging.options.json.splitStream: bool @28-
logging.options.text: object @30-
logging.options.text.infoBufferSize: quantity @30-
logging.options.text.splitStream: bool @30-
logging.verbosity: int @28-
logging.vmodule: list of object @28-
logging.vmodule[].filePattern: string @28-
logging.vmodule[].verbosity: int @28-
metricsBindAddress: string
mode: string
nftables: object @29-
nftables.masqueradeAll: bool @29-
nftables.masqueradeBit: int @29-
nftables.minSyncPeriod: duration @29-
nftables.syncPeriod: duration @29-
nodePortAddresses: list of string
oomScoreAdj: int
portRange: string
showHiddenMetricsForVersion: string
udpIdleTimeout: duration @-25
windowsRunAsService: bool @31-
winkernel: object
winkernel.enableDSR: bool
winkernel.forwardHealthCheckVip: bool @24-
winkernel.networkName: string
winkernel.rootHnsEndpointName: string @24-
winkernel.sourceVip: string
"""


def kubelet_fields(minor: int) -> Mapping[str, str]:
    """Tell path and JSON type of every field that KubeletConfiguration has in 1.minor."""
    return _fields(_KUBELET, minor)


def kube_proxy_fields(minor: int) -> Mapping[str, str]:
    """Tell path and JSON type of every field that KubeProxyConfiguration has in 1.minor."""
    return _fields(_KUBE_PROXY, minor)


def _fields(table: str, minor: int) -> Mapping[str, str]:
    fields: dict[str, str] = {}
    for line in table.strip().splitlines():
        path, _colon, rest = line.partition(": ")
        kind, _at, minors = rest.partition(" @")
        first, _dash, last = minors.partition("-")
        if int(first or minor) <= minor <= int(last or minor):
            fields[path] = kind
    return fields
