# Sourced by setup_env.sh: what is installed, and tested, together.
# `choose_stack NAME` sets STACK_PYTHON (empty: any from 3.10 on), TORCH_PINS,
# PINS and COMPILED for one of STACKS; a pin is the name that is imported and
# the release that it comes from.
STACKS="onedl openmmlab onedl-oldest onedl-newest onedl-compiled
        openmmlab-oldest"

choose_stack() {
    case $1 in
        #                       Python PyTorch torchvision family   NumPy
        onedl)            stack ''     2.14.1  0.29.1      onedl     2 ;;
        openmmlab)        stack ''     2.14.1  0.29.1      openmmlab 1 ;;
        onedl-oldest)     stack 3.10   2.4.1   0.19.1      onedl     1 ;;
        onedl-newest)     stack 3.13   2.15.0  0.29.2      onedl     2 ;;
        onedl-compiled)   stack ''     2.14.1  0.29.1      onedl     2 yes ;;
        openmmlab-oldest) stack 3.10   2.4.1   0.19.1      openmmlab 1 ;;
        *) fail "there is no stack '$1', expected one of:" $STACKS ;;
    esac
}

stack() {
    STACK_PYTHON=$1
    TORCH_PINS=("torch:torch==$2" "torchvision:torchvision==$3")
    case $4 in
        onedl)
            PINS=(mmengine:onedl-mmengine==0.10.12 mmcv:onedl-mmcv==2.3.6
                  mmdet:onedl-mmdetection==3.5.1
                  mmpretrain:onedl-mmpretrain==1.3.6) ;;
        openmmlab)
            PINS=(mmengine:mmengine==0.10.7 mmcv:mmcv-lite==2.1.0
                  mmdet:mmdet==3.3.0 mmpretrain:mmpretrain==1.2.0
                  'pkg_resources:setuptools<81') ;;
    esac
    case $5 in
        1) PINS+=('numpy:numpy<2' cv2:opencv-python==4.11.0.86) ;;
        2) PINS+=('numpy:numpy>=2') ;;
    esac
    PINS+=(sklearn:scikit-learn matplotlib:matplotlib)
    COMPILED=${6:-}
}
