"""Addresses that packages come from: those that everybody uses, and those that somebody gave.

The table names the registries of the languages, full mirrors of them, and the indexes on which vendors offer builds of
their own packages. None of them has room for just anybody's packages under the names of others: that is why the trial
index of PyPI and the packages of forges are not here.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from interpose.effects.frozen_values import words

_LOCAL_HOSTS = words("localhost 127.0.0.1 ::1 0.0.0.0")
_FOREIGN = ("git+", "hg+", "svn+", "bzr+", "git@", "github:", "gitlab:", "bitbucket:", "gist:")
_USUAL = words(
    """
    pypi.org/simple pypi.python.org/simple files.pythonhosted.org/packages pypi.org/pypi
    registry.npmjs.org registry.yarnpkg.com registry.bower.io jsr.io npm.jsr.io deno.land/std
    rubygems.org index.rubygems.org index.crates.io static.crates.io crates.io
    api.nuget.org/v3 www.nuget.org/api/v2 repo.packagist.org packagist.org pub.dev hex.pm repo.hex.pm cran.r-project.org
    cloud.r-project.org packagemanager.posit.co/cran www.powershellgallery.com/api/v2 repo.maven.apache.org/maven2
    repo1.maven.org/maven2 proxy.golang.org sum.golang.org conda.anaconda.org/conda-forge conda.anaconda.org/pytorch
    conda.anaconda.org/nvidia conda.anaconda.org/bioconda conda.anaconda.org/anaconda repo.anaconda.com/pkgs

    pypi.tuna.tsinghua.edu.cn/simple mirrors.tuna.tsinghua.edu.cn mirrors.aliyun.com mirrors.cloud.tencent.com
    mirrors.tencent.com pypi.mirrors.ustc.edu.cn/simple mirrors.ustc.edu.cn mirrors.huaweicloud.com/repository
    repo.huaweicloud.com/repository mirrors.bfsu.edu.cn mirror.sjtu.edu.cn mirrors.sjtug.sjtu.edu.cn
    pypi.doubanio.com/simple registry.npmmirror.com gems.ruby-china.com goproxy.cn goproxy.io www.piwheels.org/simple

    download.pytorch.org/whl download.pytorch.org/libtorch pypi.nvidia.com pypi.ngc.nvidia.com
    developer.download.nvidia.com/compute storage.googleapis.com/jax-releases storage.googleapis.com/libtpu-releases
    storage.googleapis.com/libtpu-wheels us-python.pkg.dev/ml-oss-artifacts-published data.pyg.org/whl
    data.dgl.ai/wheels wheels.vllm.ai flashinfer.ai/whl download.openmmlab.com/mmcv abetlen.github.io/llama-cpp-python
    pytorch-extension.intel.com/release-whl repo.radeon.com/rocm pip.repos.neuron.amazonaws.com
    www.paddlepaddle.org.cn/packages paddle-wheel.bj.bcebos.com huggingface.github.io/autogptq-index
    pypi.anaconda.org/scientific-python-nightly-wheels/simple pypi.anaconda.org/scipy-wheels-nightly/simple
    github.com/explosion/spacy-models/releases/download raw.githubusercontent.com/apache/airflow
    """
)


def foreign(text: str) -> bool:
    """Whether a package or index is given by an address that is not one of the usual ones."""
    if text.startswith(_FOREIGN):
        return True
    before, found, address = text.partition("://")
    scheme = before.rpartition(" ")[2].rpartition("=")[2].lower()
    if not found or scheme == "file":
        return False
    try:
        parts = urlsplit("//" + address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return True
    return host not in _LOCAL_HOSTS and not (scheme == "https" and port in (None, 443) and _usual(host, parts.path))


def _usual(host: str, path: str) -> bool:
    if ".." in path or "%" in path or "\\" in path:
        return False
    steps = [host, *filter(None, path.split("/"))]
    return any("/".join(steps[:length]) in _USUAL for length in range(1, 6))
